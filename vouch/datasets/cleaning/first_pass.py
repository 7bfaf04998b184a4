"""Entries of a source become items and pictures, one after the other, or are rejected."""

import importlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from vouch.datasets.cleaning.cleaning import Picture, check, clean
from vouch.datasets.cleaning.config import DatasetEntry, Sample
from vouch.datasets.cleaning.defects import Findings
from vouch.datasets.cleaning.expected import Tally, expectation
from vouch.datasets.cleaning.image_reader import EntryImages, with_images
from vouch.datasets.cleaning.item_buffer import ItemBuffer
from vouch.datasets.cleaning.second_pass import Flags
from vouch.datasets.fetch.locate import locate
from vouch.datasets.raw import BrokenImage, LoaderSettings, RawItem, Rejected, Unusable
from vouch.datasets.read.files import Source
from vouch.pipeline.errors import UserError
from vouch.pipeline.stage import Run
from vouch.tables.table import Writer


@dataclass(frozen=True)
class Dataset:
    """What is prepared: `datasets.NAME`, and the file of vouch/datasets/loaders that reads its source."""

    name: str
    config: DatasetEntry
    loader: ModuleType
    settings: LoaderSettings
    source: Source

    @classmethod
    def of(cls, name: str, values: Any) -> "Dataset":
        """values: of params.yaml. The source is fetched where it names an origin. Raises UserError."""
        config = DatasetEntry.model_validate(values)
        loader = importlib.import_module(f"vouch.datasets.loaders.{config.loader}")
        settings = loader.Settings.model_validate(config.settings)
        source = locate(name, config.source, config.origin, getattr(loader, "PLACE", ""))
        return cls(name, config, loader, settings, source)

    def entries(self, run: Run) -> Iterator[RawItem | Rejected]:
        """What the loader reads, with progress."""
        total = self.loader.count(self.source, self.name, self.settings)
        read = self.loader.read(self.source, self.name, self.settings)
        yield from run.progress(read, total=total, label=f"prepare {self.name}")

    def published(self) -> Iterable[Mapping[str, Any]]:
        """Rows of the table of published numbers."""
        has = hasattr(self.loader, "published")
        return self.loader.published(self.source, self.name, self.settings) if has else ()


class Images:
    """Writes each distinct image once and remembers its facts, not its bytes. known: by digest."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.known: dict[str, Picture] = {}

    def take(self, looked: EntryImages) -> list[Picture]:
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


class FirstPass:
    """kept: the items. flags: what is odd about them, unless they get other options: see ItemBuffer.

    blind: items without a picture.
    """

    def __init__(self, dataset: Dataset, images: Writer, rejects: Writer, findings: Findings) -> None:
        self._dataset, self._rejects, self._findings = dataset, rejects, findings
        self._images = Images(images)
        self._places: dict[str, str] = {}
        self.flags = Flags(self._images.known)
        # options of a scheme are what is odd or not
        self.kept = ItemBuffer(None if dataset.config.options else self.flags.add)
        self.blind = 0

    def read(self, run: Run) -> None:
        """Takes every entry of the source. Raises UserError."""
        name, source = self._dataset.name, self._dataset.source
        tally = Tally(expectation(self._dataset.loader, source, name, self._dataset.settings))
        entries = sampled(tally.counting(self._dataset.entries(run)), self._dataset.config.sample)
        with closing(with_images(entries, self._images.known)) as all_looked:
            for looked in all_looked:
                self._take(looked)
        tally.check(f"datasets.{name}")
        if not self.kept.count:
            raise UserError(
                f"{source.path}: no usable item, {self._rejects.count} rejected; correct datasets.{name}"
            )

    def _take(self, looked: EntryImages) -> None:
        entry = looked.entry
        try:
            if isinstance(entry, Rejected):
                raise Unusable(entry.reason)
            row = self._row(entry, looked)
            self.kept.add(row, entry.options)
            self.blind += not row["images"]
            self._places[entry.id] = entry.where
        except Unusable as error:
            stop = self._dataset.settings.on_error == "stop"
            self._rejects.row(reject_row(self._dataset.name, entry, str(error), stop))
            self._findings.reject(entry.id or entry.where, isinstance(error, BrokenImage))

    def _row(self, raw: RawItem, looked: EntryImages) -> Mapping[str, Any]:
        """The row of one entry. Raises Unusable."""
        check(raw)
        if raw.id in self._places:
            raise Unusable(
                f"the id stands a second time, first at {self._places[raw.id]}; ids must be unique"
            )
        for turn in raw.turns:
            if turn not in self._places:
                raise Unusable(f"turn {turn!r:.80}: no usable item before this one has that id")
        pictures = self._images.take(looked)
        shown, spare = pictures[: len(raw.images)], iter(pictures[len(raw.images) :])
        exchange = [None if image is None else next(spare).digest for image in raw.exchange]
        return {**clean(raw, shown), "exchange": exchange}


def sampled(read: Iterable[RawItem | Rejected], sample: Sample | None) -> Iterable[RawItem | Rejected]:
    """The entries that a sample holds: by their group, their id or, of those without, their place."""
    if sample is None:
        return read
    return (one for one in read if sample.holds(getattr(one, "group", None) or one.id or one.where))


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
