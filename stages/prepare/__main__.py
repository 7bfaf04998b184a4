"""prepare: `python -m stages.prepare NAME` reads the source of one dataset.

Inputs   the source, as datasets.NAME of params.yaml says; fetched where it names an origin
Outputs  data/items, data/images, data/rejects, data/defects, data/published: NAME.parquet each
"""

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from types import ModuleType
from typing import Any

from stages.contracts.defects import DEFECTS, defects_path
from stages.contracts.images import IMAGES, images_path
from stages.contracts.items import ITEMS, items_path
from stages.contracts.published import PUBLISHED, published_path
from stages.contracts.rejects import REJECTS, rejects_path
from stages.contracts.table import Writer
from stages.prepare.cleaning import Picture, check, clean
from stages.prepare.config import DatasetEntry, Sample
from stages.prepare.defects import Findings
from stages.prepare.expected import Tally, expectation
from stages.prepare.kept import Kept
from stages.prepare.looking import Looked, looked_at
from stages.prepare.raw import BrokenImage, LoaderSettings, RawItem, Rejected, Unusable
from stages.prepare.second_pass import Flags, flagged, normalised
from stages.runtime.errors import UserError
from stages.runtime.stage import Run, run_stage
from stages.sources.fetching.locate import locate
from stages.sources.reading.files import Source


class Images:
    """Writes each distinct image once and remembers its facts, not its bytes. known: by digest."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.known: dict[str, Picture] = {}

    def take(self, looked: Looked) -> list[Picture]:
        """The pictures of an entry, those for exchange last; new ones are written only when all are good.

        Raises Unusable.
        """
        if looked.broken is not None:
            raise looked.broken
        for seen in looked.seen:
            if seen.data is not None and seen.picture.digest not in self.known:
                self.known[seen.picture.digest] = seen.picture
                self._writer.row(_image_row(seen.picture, seen.data))
        return [seen.picture for seen in looked.seen]


def _image_row(picture: Picture, data: bytes) -> Mapping[str, Any]:
    row = {name: getattr(picture, name) for name in ("digest", "format", "mode", "width", "height")}
    return {**row, "bytes": data}


def item_row(raw: RawItem, looked: Looked, images: Images, places: Mapping[str, str]) -> Mapping[str, Any]:
    """The row of one entry. `places`: where each id seen so far stands. Raises Unusable."""
    check(raw)
    if raw.id in places:
        raise Unusable(f"the id stands a second time, first at {places[raw.id]}; ids must be unique")
    for turn in raw.turns:
        if turn not in places:
            raise Unusable(f"turn {turn!r:.80}: no usable item before this one has that id")
    pictures = images.take(looked)
    shown, spare = pictures[: len(raw.images)], iter(pictures[len(raw.images) :])
    exchange = [None if image is None else next(spare).digest for image in raw.exchange]
    return {**clean(raw, shown), "exchange": exchange}


def entries(
    run: Run, loader: ModuleType, source: Source, name: str, settings: LoaderSettings
) -> Iterator[Any]:
    """What the loader reads, with progress."""
    total = loader.count(source, name, settings)
    yield from run.progress(loader.read(source, name, settings), total=total, label=f"prepare {name}")


def sampled(read: Iterator[Any], sample: Sample | None) -> Iterator[Any]:
    """The entries that a sample holds: by their group, their id or, of those without, their place."""
    for entry in read:
        name = getattr(entry, "group", None) or entry.id or entry.where
        if sample is None or sample.holds(name):
            yield entry


def main(run: Run) -> None:
    """Writes the five tables, all or none."""
    (name,) = run.keys
    config = DatasetEntry.model_validate(run.params["datasets"][name])
    loader = importlib.import_module(f"stages.prepare.datasets.{config.loader}")
    settings = loader.Settings.model_validate(config.settings)
    source = locate(name, config.source, config.origin, getattr(loader, "PLACE", ""))
    expected, tally = expectation(loader, source, name, settings), Tally()
    places: dict[str, str] = {}
    blind = 0
    findings = Findings()
    with ExitStack() as stack:
        items = stack.enter_context(ITEMS.writer(items_path(name)))
        image_rows = stack.enter_context(IMAGES.writer(images_path(name)))
        rejects = stack.enter_context(REJECTS.writer(rejects_path(name)))
        defects = stack.enter_context(DEFECTS.writer(defects_path(name)))
        published = stack.enter_context(PUBLISHED.writer(published_path(name)))
        images = Images(image_rows)
        flags = Flags(images.known)
        kept = Kept(None if config.options else flags.add)  # options of a scheme are what is odd or not
        read = sampled(tally.counting(entries(run, loader, source, name, settings)), config.sample)
        for looked in stack.enter_context(closing(looked_at(read, images.known))):
            entry = looked.entry
            try:
                if isinstance(entry, Rejected):
                    raise Unusable(entry.reason)
                kept.add(row := item_row(entry, looked, images, places), entry.options)
                blind += not row["images"]
                places[entry.id] = entry.where
            except Unusable as error:
                rejects.row(reject_row(name, entry, str(error), settings.on_error == "stop"))
                findings.reject(entry.id or entry.where, isinstance(error, BrokenImage))
        tally.check(expected, f"datasets.{name}")
        if not kept.count:
            raise UserError(
                f"{source.path}: no usable item, {rejects.count} rejected; correct datasets.{name}"
            )
        if config.options:
            kept = normalised(kept, flags, config.options, rejects.count, name, source.path)
        for table in flagged(kept, flags):
            items.table(table)
            findings.items(table)
        for row in findings.rows():
            defects.row(row)
        for number in loader.published(source, name, settings) if hasattr(loader, "published") else ():
            published.row(number)
    if blind:
        print(
            f"prepare {name}: {blind} of {items.count} items have no picture: no model is asked them",
            file=sys.stderr,
        )
    if source.revision:
        run.note("revision", source.revision)
    run.note("items", items.count)
    run.note("items_without_picture", blind)
    run.note("images", image_rows.count)
    run.note("rejects", rejects.count)


def reject_row(name: str, entry: RawItem | Rejected, reason: str, stop: bool) -> Mapping[str, str]:
    """A row of rejects. Raises UserError instead where the settings say to stop."""
    if stop:
        known = f" (id {entry.id!r:.80})" if entry.id else ""
        raise UserError(
            f"{entry.where}{known}: {reason}; correct it, or leave such entries out with "
            f"datasets.{name}.settings.on_error: skip"
        )
    row = {"dataset": name, "where": entry.where, "id": entry.id, "reason": reason}
    return {key: _one_line(text) for key, text in row.items()}


def _one_line(text: str) -> str:
    return " ".join(text.encode("utf-8", "backslashreplace").decode().split())


if __name__ == "__main__":
    run_stage("prepare", main)
