"""The first pass over a source: each entry becomes an item with its images, or is rejected with a reason.

The entries are also counted, and the counts compared with those known for the dataset. A count has one of
these names:

items              entries, rejected ones included
choice, open       questions with options, and without
groups             different groups, if the source names groups
questions          different question texts
hints              entries with a hint
images N           entries with N images
options N          entries with N options
answer A           entries whose (first) answer has that letter
category NAME      entries of that category
"""

import importlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from string import ascii_uppercase
from types import ModuleType
from typing import Any

from vouch.datasets.config import DatasetEntry, Subset
from vouch.datasets.fetch.download import locate
from vouch.datasets.flags import default_group
from vouch.datasets.raw import (
    BrokenImage,
    Expected,
    LoaderSettings,
    RawItem,
    Rejected,
    Unusable,
    known_options,
)
from vouch.datasets.read.files import SourceFiles
from vouch.datasets.read.images import EntryImages, ImageFacts, with_images
from vouch.datasets.second_pass import Findings, ItemBuffer
from vouch.pipeline.errors import UserError
from vouch.pipeline.run import Run
from vouch.tables.table import TableWriter

MAX_OPTIONS = 26
MAX_NAME = 1_000  # characters of an id or a category: tables, pages and messages repeat it
MAX_TEXT = 1_000_000  # characters of an entry; a chat template copies them until memory is full
_LONGEST = 200  # characters of an id that was refused
ALL = "all"  # in METRICS the category of all items


@dataclass(frozen=True)
class Dataset:
    """The dataset to prepare: `datasets.NAME`, and the file of vouch/datasets/loaders that reads it."""

    name: str
    config: DatasetEntry
    loader: ModuleType
    settings: LoaderSettings
    source: SourceFiles

    @classmethod
    def of(cls, name: str, values: Any) -> "Dataset":
        """values: the content of params.yaml. The source is fetched if it has an origin. Raises UserError."""
        config = DatasetEntry.model_validate(values)
        loader = importlib.import_module(f"vouch.datasets.loaders.{config.loader}")
        settings = loader.Settings.model_validate(config.settings)
        source = locate(name, config.source, config.origin, getattr(loader, "PLACE", ""))
        return cls(name, config, loader, settings, source)

    def published(self) -> Iterable[Mapping[str, Any]]:
        """Rows of the table of published numbers."""
        has = hasattr(self.loader, "published")
        return self.loader.published(self.source, self.name, self.settings) if has else ()


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
Problem = Callable[[int, int, Sequence[int]], str]


class FirstPass:
    """Reads the entries of a source one after the other.

    kept: the items. known: facts about their images, by digest. without_image: how many items have no image.
    problem: why no prompt can be made of a question, from its numbers of options and images, and the heights
    of the images; empty if a prompt can be made.
    """

    def __init__(
        self,
        dataset: Dataset,
        images: TableWriter,
        rejects: TableWriter,
        findings: Findings,
        problem: Problem,
    ) -> None:
        self._dataset, self._images, self._rejects, self._findings = dataset, images, rejects, findings
        self._rows = ItemRows(problem)
        self.known: dict[str, ImageFacts] = {}
        self.kept = ItemBuffer()
        self.without_image = 0

    def read(self, run: Run) -> None:
        """Reads the whole source. Raises UserError."""
        dataset, name = self._dataset, self._dataset.name
        source, settings = dataset.source, dataset.settings
        tally = Tally(expectation(dataset.loader, source, name, settings))
        total = dataset.loader.count(source, name, settings)
        read = dataset.loader.read(source, name, settings)
        entries = tally.counting(run.progress(read, total=total, label=f"prepare {name}"))
        with closing(with_images(sampled(entries, dataset.config.sample), self.known)) as all_entries:
            for entry_images in all_entries:
                self._take(entry_images)
        tally.check(f"datasets.{name}")
        if not self.kept.count:
            raise UserError(
                f"{source.path}: no usable item, {self._rejects.count} rejected; correct datasets.{name}"
            )

    def _take(self, entry_images: EntryImages) -> None:
        entry = entry_images.entry
        try:
            if isinstance(entry, Rejected):
                raise Unusable(entry.reason)
            row = self._row(entry, entry_images)
            self.kept.add(row, entry.options)
            self.without_image += not row["images"]
        except Unusable as error:
            stop = self._dataset.settings.on_error == "stop"
            self._rejects.row(reject_row(self._dataset.name, entry, str(error), stop))
            self._findings.reject(entry.id[:_LONGEST] or entry.where, isinstance(error, BrokenImage))

    def _row(self, raw: RawItem, images: EntryImages) -> Mapping[str, Any]:
        """The row of one entry; its new images are written only after all checks."""
        examined = [facts for facts, _ in images.examined]
        digests, heights = [one.digest for one in examined], [one.shown_height for one in examined]
        row = self._rows.row(raw, digests, heights, images.broken)
        for facts, data in images.examined:
            if data is not None and facts.digest not in self.known:
                self.known[facts.digest] = facts
                columns = ("digest", "format", "mode", "width", "height")
                self._images.row({**{name: getattr(facts, name) for name in columns}, "bytes": data})
        return row


class ItemRows:
    """Makes rows of the items table, one after the other: each knows the ids and groups of those before it.

    problem: see FirstPass.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._first_seen: dict[str, str] = {}  # id -> where
        self._groups: dict[str, str] = {}  # groups of entries by `id ID`, of images by digest

    def row(
        self,
        raw: RawItem,
        digests: Sequence[str],
        heights: Sequence[int],
        broken: BrokenImage | None = None,
    ) -> dict[str, Any]:
        """The row of one entry, after all checks. Raises Unusable.

        digests: of its images, then of those to exchange. heights: of the same in pixels, empty if they are
        not known. broken: why the first image that cannot be used was refused.
        """
        check(raw)
        if raw.id in self._first_seen:
            raise Unusable(
                f"duplicate id, first used at {self._first_seen[raw.id]}; give each entry its own id"
            )
        for turn in raw.turns:
            if turn not in self._first_seen:
                raise Unusable(f"turn {turn!r:.80}: no usable item before this one has that id")
        if broken is not None:
            raise broken
        options = len(known_options(raw.options)) if raw.kind == "choice" else 0
        if problem := self._problem(options, len(raw.images), heights):
            raise Unusable(problem)
        shown, to_exchange = digests[: len(raw.images)], iter(digests[len(raw.images) :])
        exchange = [None if image is None else next(to_exchange) for image in raw.exchange]
        # the group of the entry that this one follows, else of the first entry with one of its images
        names = (*(f"id {turn}" for turn in raw.turns), *shown)
        group = next((self._groups[name] for name in names if name in self._groups), None)
        row = clean(raw, shown, group)
        for name in (f"id {raw.id}", *shown):
            self._groups.setdefault(name, row["group"])
        self._first_seen[raw.id] = raw.where
        return {**row, "exchange": exchange}


def check(raw: RawItem) -> None:
    """Makes all checks for which no image is needed. Raises Unusable."""
    if not raw.id or not raw.id.isprintable() or raw.id != raw.id.strip():
        raise Unusable("the id is empty or has blanks at an end, line breaks or control characters")
    for what, name in (("id", raw.id), ("id in its source", raw.source_id), ("category", raw.category)):
        if len(name) > MAX_NAME:
            raise Unusable(f"the {what} has {len(name):,} characters, more than {MAX_NAME:,}; shorten it")
    texts = (raw.question, raw.hint, raw.category, raw.source_id, raw.group, *raw.options, *raw.references)
    given = [text for text in (*texts, *raw.phrasings) if text is not None]
    if text := next(filter(_LONE_SURROGATE.search, given), None):
        raise Unusable(f"the text {text[:40]!r} contains half a surrogate pair, which UTF-8 cannot encode")
    if (length := sum(map(len, given))) > MAX_TEXT:
        raise Unusable(f"its texts have {length:,} characters, more than {MAX_TEXT:,}; shorten them")
    if not raw.question.strip():
        raise Unusable("the question is empty")
    if raw.category == ALL:
        raise Unusable(f"the category is `{ALL}`, which stands for all items together; rename it")
    if raw.exchange and len(raw.exchange) != len(raw.images):
        raise Unusable(f"has {len(raw.images)} images, but {len(raw.exchange)} entries of images to exchange")
    if raw.kind == "text":
        if not raw.references:
            raise Unusable("an open question needs at least one reference answer")
        if not any(reference.strip() for reference in raw.references):
            raise Unusable("every reference answer is blank; write one")
    else:
        _check_choice(len(known_options(raw.options)), raw.answers)


def _check_choice(options: int, answers: Sequence[int]) -> None:
    if options < 2:
        raise Unusable(f"a choice needs at least 2 options, has {options} that are not missing")
    if options > MAX_OPTIONS:
        raise Unusable(f"has {options} options, more than the {MAX_OPTIONS} letters")
    if not answers:
        raise Unusable("has no correct option")
    for answer in answers:
        if not 0 <= answer < options:
            raise Unusable(f"answer index {answer!s:.20} is not an index of its options, 0 to {options - 1}")


def clean(raw: RawItem, images: Sequence[str], group: str | None = None) -> dict[str, Any]:
    """The row of an entry that passed `check`. images: their digests. group: for an entry with none, in place
    of `default_group`."""
    group = group if raw.group is None else raw.group
    return {
        "id": raw.id,
        "group": default_group(raw.id, images) if group is None else group,
        "question": raw.question,
        "phrasings": list(raw.phrasings),
        "hint": raw.hint,
        "options": known_options(raw.options),
        "answers": sorted(set(raw.answers)),
        "references": list(raw.references),
        "images": list(images),
        "category": raw.category,
        "kind": raw.kind,
        "turns": list(raw.turns),
        "source_id": raw.source_id or raw.id,
    }


def sampled(entries: Iterable[RawItem | Rejected], sample: Subset | None) -> Iterator[RawItem | Rejected]:
    """The entries of a sample: chosen by group, or else by the id (or row) that opens their dialogue."""
    opening = ""
    for entry in entries:
        if not getattr(entry, "turns", ()):
            opening = entry.id or entry.where
        if sample is None or sample.holds(getattr(entry, "group", None) or opening):
            yield entry


def reject_row(name: str, entry: RawItem | Rejected, reason: str, stop: bool) -> Mapping[str, str]:
    """A row of the rejects table. Raises UserError instead if the settings say to stop."""
    if stop:
        known = f" (id {entry.id!r:.80})" if entry.id else ""
        raise UserError(
            f"{entry.where}{known}: {reason}; correct it, or leave such entries out with "
            f"datasets.{name}.settings.on_error: skip"
        )
    row = {"dataset": name, "where": entry.where, "id": entry.id[:_LONGEST], "reason": reason}
    return {
        key: " ".join(text.encode("utf-8", "backslashreplace").decode().split()) for key, text in row.items()
    }


def expectation(loader: ModuleType, source: SourceFiles, name: str, settings: LoaderSettings) -> Expected:
    """The expected counts; none if all counts are accepted. Raises UserError if they must be set."""
    if settings.expect is None:
        return {}
    if settings.expect or not hasattr(loader, "expected"):
        return {key: (value,) for key, value in settings.expect.items()}
    known: Expected | None = loader.expected(source, settings)
    if known is None:
        which = source.split or "this source"
        raise UserError(
            f"datasets.{name}: the number of items of {which} is not known here; write "
            "settings.expect: {items: N}, or settings.expect: null for any number"
        )
    return known


class Tally:
    """Counts entries as they pass."""

    def __init__(self, expected: Expected) -> None:
        self._expected = expected
        self._counts = Counter[str]()
        self._groups: set[str] = set()
        self._questions: set[str] | None = set() if "questions" in expected else None

    def counting(self, entries: Iterable[RawItem | Rejected]) -> Iterator[RawItem | Rejected]:
        """Passes the entries on and counts them."""
        for entry in entries:
            self._counts["items"] += 1
            if isinstance(entry, RawItem):
                self._counts.update(_counted_names(entry))
                self._groups |= set() if entry.group is None else {entry.group}
                if self._questions is not None:
                    self._questions.add(entry.question)
            yield entry

    def check(self, where: str) -> None:
        """Raises UserError if a count is not as expected."""
        self._counts["groups"] = len(self._groups)
        self._counts["questions"] = len(self._questions or ())
        different = [
            f"{key}: {' or '.join(f'{value:,}' for value in sorted(values))} expected, "
            f"{self._counts[key]:,} found"
            for key, values in self._expected.items()
            if self._counts[key] not in values
        ]
        if different:
            more = f" (and {len(different) - 1} more counts)" if len(different) > 1 else ""
            raise UserError(
                f"{where}: {different[0]}{more}; it is another dataset or only a part of it: correct "
                "origin, or set settings.expect to the counts that you expect (null: any)"
            )


def _counted_names(item: RawItem) -> Iterator[str]:
    yield "open" if item.kind == "text" else "choice"
    yield f"images {len(item.images)}"
    if item.category:
        yield f"category {item.category}"
    if item.hint:
        yield "hints"
    if item.kind == "choice":
        letters = ascii_uppercase[: len(known_options(item.options))]
        yield f"options {len(letters)}"
        yield from (f"answer {letters[answer]}" for answer in item.answers[:1] if 0 <= answer < len(letters))
