"""prepare: `python -m stages.prepare NAME` reads the source of one dataset.

Inputs   the source, as datasets.NAME of params.yaml says; fetched where it names an origin
Outputs  data/items, data/images, data/rejects, data/defects, data/published: NAME.parquet each
"""

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

from stages.contracts.defects import DEFECTS, defects_path
from stages.contracts.images import IMAGES, images_path
from stages.contracts.items import ITEMS, items_path
from stages.contracts.published import PUBLISHED, published_path
from stages.contracts.rejects import REJECTS, rejects_path
from stages.contracts.table import Writer
from stages.prepare.cleaning import Picture, check, clean, digest_of, examine
from stages.prepare.config import DatasetEntry
from stages.prepare.defects import Findings
from stages.prepare.expected import Tally, expectation
from stages.prepare.kept import Kept
from stages.prepare.raw import BrokenImage, LoaderSettings, RawItem, Rejected, Unusable
from stages.prepare.second_pass import flagged, normalised
from stages.runtime.errors import UserError
from stages.runtime.stage import Run, run_stage
from stages.sources.fetching.locate import locate
from stages.sources.reading.files import Source

MAX_IMAGE_BYTES = 256 * 2**20


def read_image(image: str, root: Path | None) -> bytes:
    """The bytes of an image file, which must lie inside `root`. Raises BrokenImage."""
    name = f"image {image!r:.200}"
    if root is None or not image or Path(image).is_absolute() or ".." in Path(image).parts:
        raise BrokenImage(f"{name}: not a path inside the dataset's folder; give a relative one without `..`")
    try:
        path = root / image
        if not path.resolve().is_relative_to(root.resolve()):
            raise BrokenImage(f"{name}: a link that leads out of the dataset's folder; copy the file into it")
        if not path.is_file():
            raise BrokenImage(f"{name}: no such file in {root}")
        if path.stat().st_size > MAX_IMAGE_BYTES:
            raise BrokenImage(f"{name}: larger than {MAX_IMAGE_BYTES:,} bytes; scale it down")
        return path.read_bytes()
    except BrokenImage:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise BrokenImage(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


class Images:
    """Writes each distinct image once and remembers its facts, not its bytes. known: by digest."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.known: dict[str, Picture] = {}

    def take(self, raw: RawItem) -> list[Picture]:
        """The pictures of an entry, those for exchange last; new ones are written only when all are good.

        Raises Unusable.
        """
        pictures: list[Picture] = []
        new: dict[str, tuple[Picture, bytes]] = {}
        for image in (*raw.images, *(image for image in raw.exchange if image is not None)):
            data = image if isinstance(image, bytes) else read_image(image, raw.root)
            digest = digest_of(data)
            picture = self.known.get(digest)
            if picture is None:
                try:
                    picture = examine(data)
                except Unusable as error:
                    which = repr(image) if isinstance(image, str) else str(len(pictures) + 1)
                    raise BrokenImage(f"image {which:.200}: {error}") from None
                new[digest] = (picture, data)
            pictures.append(picture)
        for digest, (picture, data) in new.items():
            self.known[digest] = picture
            self._writer.row(_image_row(picture, data))
        return pictures


def _image_row(picture: Picture, data: bytes) -> Mapping[str, Any]:
    row = {name: getattr(picture, name) for name in ("digest", "format", "mode", "width", "height")}
    return {**row, "bytes": data}


def item_row(raw: RawItem, images: Images, places: Mapping[str, str]) -> Mapping[str, Any]:
    """The row of one entry. `places`: where each id seen so far stands. Raises Unusable."""
    check(raw)
    if raw.id in places:
        raise Unusable(f"the id stands a second time, first at {places[raw.id]}; ids must be unique")
    for turn in raw.turns:
        if turn not in places:
            raise Unusable(f"turn {turn!r:.80}: no usable item before this one has that id")
    pictures = images.take(raw)
    shown, spare = pictures[: len(raw.images)], iter(pictures[len(raw.images) :])
    exchange = [None if image is None else next(spare).digest for image in raw.exchange]
    return {**clean(raw, shown), "exchange": exchange}


def entries(
    run: Run, loader: ModuleType, source: Source, name: str, settings: LoaderSettings
) -> Iterator[Any]:
    """What the loader reads, with progress."""
    total = loader.count(source, name, settings)
    yield from run.progress(loader.read(source, name, settings), total=total, label=f"prepare {name}")


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
    kept, findings = Kept(), Findings()
    with ExitStack() as stack:
        items = stack.enter_context(ITEMS.writer(items_path(name)))
        image_rows = stack.enter_context(IMAGES.writer(images_path(name)))
        rejects = stack.enter_context(REJECTS.writer(rejects_path(name)))
        defects = stack.enter_context(DEFECTS.writer(defects_path(name)))
        published = stack.enter_context(PUBLISHED.writer(published_path(name)))
        images = Images(image_rows)
        for entry in tally.counting(entries(run, loader, source, name, settings)):
            try:
                if isinstance(entry, Rejected):
                    raise Unusable(entry.reason)
                kept.add(row := item_row(entry, images, places), entry.options)
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
        for row in flagged(normalised(kept, config.options, rejects.count, name), images.known):
            items.row(row)
            findings.item(row)
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
