"""Entries of a source become items and pictures, one after the other, or are rejected."""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from vouch.datasets.cleaning.cleaning import Picture, check, clean, known_options
from vouch.datasets.cleaning.config import DatasetEntry, Sample
from vouch.datasets.cleaning.defects import Findings
from vouch.datasets.cleaning.expected import Tally, expectation
from vouch.datasets.cleaning.image_reader import EntryImages, with_images
from vouch.datasets.cleaning.second_pass import ItemBuffer
from vouch.datasets.fetch.locate import locate
from vouch.datasets.raw import BrokenImage, LoaderSettings, RawItem, Rejected, Unusable
from vouch.datasets.read.files import Source
from vouch.pipeline.errors import UserError
from vouch.pipeline.stage import Run
from vouch.tables.writing import Writer


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


_LONGEST = 200  # characters of an id that was refused
Problem = Callable[[int, int, Sequence[int]], str]


class FirstPass:
    """kept: the items. known: facts of their pictures, by digest. blind: items without a picture.

    problem: why no prompt can be made of a question, from its numbers of options and images, and heights.
    """

    def __init__(
        self, dataset: Dataset, images: Writer, rejects: Writer, findings: Findings, problem: Problem
    ) -> None:
        self._dataset, self._images, self._rejects, self._findings = dataset, images, rejects, findings
        self._problem = problem
        self._places: dict[str, str] = {}
        self._groups: dict[str, str] = {}  # of entries, by `id ID`, and of pictures, by their digest
        self.known: dict[str, Picture] = {}
        self.kept = ItemBuffer()
        self.blind = 0

    def read(self, run: Run) -> None:
        """Takes every entry of the source. Raises UserError."""
        name, source = self._dataset.name, self._dataset.source
        tally = Tally(expectation(self._dataset.loader, source, name, self._dataset.settings))
        entries = sampled(tally.counting(self._dataset.entries(run)), self._dataset.config.sample)
        with closing(with_images(entries, self.known)) as all_looked:
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
            self._findings.reject(entry.id[:_LONGEST] or entry.where, isinstance(error, BrokenImage))

    def _row(self, raw: RawItem, looked: EntryImages) -> Mapping[str, Any]:
        """The row of one entry, whose new pictures are written once all is good. Raises Unusable."""
        check(raw)
        if raw.id in self._places:
            raise Unusable(
                f"the id stands a second time, first at {self._places[raw.id]}; ids must be unique"
            )
        for turn in raw.turns:
            if turn not in self._places:
                raise Unusable(f"turn {turn!r:.80}: no usable item before this one has that id")
        if looked.broken is not None:
            raise looked.broken
        options = len(known_options(raw.options)) if raw.kind == "choice" else 0
        heights = [picture.shown_height for picture, _ in looked.seen]
        if problem := self._problem(options, len(raw.images), heights):
            raise Unusable(problem)
        for picture, data in looked.seen:
            if data is not None and picture.digest not in self.known:
                self.known[picture.digest] = picture
                facts = {
                    name: getattr(picture, name) for name in ("digest", "format", "mode", "width", "height")
                }
                self._images.row({**facts, "bytes": data})
        pictures = [picture for picture, _ in looked.seen]
        shown, spare = pictures[: len(raw.images)], iter(pictures[len(raw.images) :])
        exchange = [None if image is None else next(spare).digest for image in raw.exchange]
        row = clean(raw, shown, self._group_of(raw, [picture.digest for picture in shown]))
        for name in (f"id {raw.id}", *row["images"]):
            self._groups.setdefault(name, row["group"])
        return {**row, "exchange": exchange}

    def _group_of(self, raw: RawItem, images: Sequence[str]) -> str | None:
        """The group of the entry that this one follows, else that of the first one with a picture of it."""
        names = (*(f"id {turn}" for turn in raw.turns), *images)
        return next((self._groups[name] for name in names if name in self._groups), None)


def sampled(read: Iterable[RawItem | Rejected], sample: Sample | None) -> Iterator[RawItem | Rejected]:
    """The entries that a sample holds: by their group, the id that opens their conversation, or place."""
    opening = ""
    for one in read:
        if not getattr(one, "turns", ()):
            opening = one.id or one.where
        if sample is None or sample.holds(getattr(one, "group", None) or opening):
            yield one


def reject_row(name: str, entry: RawItem | Rejected, reason: str, stop: bool) -> Mapping[str, str]:
    """A row of rejects. Raises UserError instead where the settings say to stop."""
    if stop:
        known = f" (id {entry.id!r:.80})" if entry.id else ""
        raise UserError(
            f"{entry.where}{known}: {reason}; correct it, or leave such entries out with "
            f"datasets.{name}.settings.on_error: skip"
        )
    row = {"dataset": name, "where": entry.where, "id": entry.id[:_LONGEST], "reason": reason}
    return {key: _one_line(text) for key, text in row.items()}


def _one_line(text: str) -> str:
    return " ".join(text.encode("utf-8", "backslashreplace").decode().split())
