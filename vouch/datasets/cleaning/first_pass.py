"""Pictures of entries, read and examined by a few threads a little ahead of the entry that comes next.

Decoding takes most of the time of `prepare`, and Pillow lets other threads run meanwhile. Everything else
happens entry after entry, in the order of the source. In memory are at most the pictures of HELD entries, or
as many bytes as `prefetch` allows, beside those that are being written.

Entries of a source become items and pictures, one after the other, or are rejected.

Whether a source holds what it should: counts of what its loader yields, against those that are known.

items              entries, those that are rejected included
choice, open       questions with options, and without
groups             different groups, where the source gives them
hints              entries with a hint
images N           entries with N pictures
options N          entries with N options
answer A           entries whose (first) answer has that letter
category NAME      entries of that category
"""

import importlib
import os
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from string import ascii_uppercase
from types import ModuleType
from typing import Any

from PIL import Image

from vouch.datasets.cleaning.cleaning import (
    Findings,
    Picture,
    check,
    clean,
    digest_of,
    examine,
    known_options,
)
from vouch.datasets.cleaning.config import DatasetEntry, Sample
from vouch.datasets.cleaning.second_pass import ItemBuffer
from vouch.datasets.fetch.hub import locate
from vouch.datasets.raw import BrokenImage, Expected, LoaderSettings, RawItem, Rejected, Unusable
from vouch.datasets.read.files import UNSEEN, Source
from vouch.images.opening import LruCache, prefetch
from vouch.pipeline.dag import left_out
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import read_file
from vouch.pipeline.run import Run
from vouch.tables.table import Writer

MAX_IMAGE_BYTES = 256 * 2**20
HELD = 12  # entries looked at ahead
MOST_WORKERS = 4


@dataclass(frozen=True)
class EntryImages:
    """An entry and its pictures, those for exchange last; `broken` in place of the first that is unusable.

    seen: each picture and its bytes, None for one that was known before.
    """

    entry: RawItem | Rejected
    seen: Sequence[tuple[Picture, bytes | None]] = ()
    broken: BrokenImage | None = None


def with_images(
    entries: Iterable[RawItem | Rejected], known: Mapping[str, Picture]
) -> Generator[EntryImages, None, None]:
    """Every entry in its order, with its pictures. known: by digest; may grow, is not examined again.

    Close it to end its threads.
    """
    examined: LruCache[Picture] = LruCache(4 * HELD)

    def look(entry: RawItem | Rejected) -> EntryImages:
        return EntryImages(entry) if isinstance(entry, Rejected) else _read(entry, known, examined)

    def has_no_picture(entry: RawItem | Rejected) -> bool:
        return isinstance(entry, Rejected) or not (entry.images or entry.exchange)

    with warnings.catch_warnings():
        # Such pictures are refused in words; and the filters must not be changed by several threads.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        yield from prefetch(look, entries, _workers(), HELD, has_no_picture, _bytes)


def _bytes(entry: RawItem | Rejected) -> int:
    """Of an entry's encoded pictures, as far as they can be found."""
    if isinstance(entry, Rejected):
        return 0
    found = 0
    for image in (*entry.images, *entry.exchange):
        if isinstance(image, bytes):
            found += len(image)
        elif image is not None and entry.root is not None:
            with suppress(OSError, ValueError):  # reading it says what is wrong
                found += os.stat(os.path.join(entry.root, image)).st_size
    return found


def _workers() -> int:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, MOST_WORKERS)


def _read(raw: RawItem, known: Mapping[str, Picture], examined: LruCache[Picture]) -> EntryImages:
    """Runs in a thread."""
    seen: list[tuple[Picture, bytes | None]] = []
    for image in (*raw.images, *(image for image in raw.exchange if image is not None)):
        try:
            data = image if isinstance(image, bytes) else read_image(image, raw.root)
            digest = digest_of(data)
            if digest in known:
                seen.append((known[digest], None))
            else:
                seen.append((examined.get(digest, partial(examine, data, digest)), data))
        except BrokenImage as error:
            return EntryImages(raw, seen, error)
        except Unusable as error:
            which = repr(image) if isinstance(image, str) else str(len(seen) + 1)
            return EntryImages(raw, seen, BrokenImage(f"image {which:.200}: {error}"))
    return EntryImages(raw, seen)


def read_image(image: str, root: Path | None) -> bytes:
    """The bytes of an image file, which must lie inside `root`. Raises BrokenImage."""
    name, below = f"image {image!r:.200}", Path(image)
    if root is None or not image or below.is_absolute() or ".." in below.parts:
        raise BrokenImage(f"{name}: not a path inside the dataset's folder; give a relative one without `..`")
    try:
        path = Path(root, *below.parts)
        if through_link(root, below.parts):
            if leads_out(path, root):
                raise BrokenImage(
                    f"{name}: a link that leads out of the dataset's folder; copy the file into it"
                )
            if through_link(root, below.parts[:-1]):  # no digest says where it leads
                raise BrokenImage(
                    f"{name}: behind a link to a folder, whose changes go unseen; name the folder itself"
                )
        if part := left_out(path):
            raise BrokenImage(f"{name}: {UNSEEN.format(part)}")
        if not path.is_file():
            raise BrokenImage(f"{name}: no such file in {root}")
        size = path.stat().st_size
        if size > MAX_IMAGE_BYTES:
            raise BrokenImage(f"{name}: larger than {MAX_IMAGE_BYTES:,} bytes; scale it down")
        return read_file(str(path), size)
    except BrokenImage:
        raise
    except (OSError, ValueError) as error:
        raise BrokenImage(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def through_link(root: Path, names: Sequence[str]) -> bool:
    """Whether the way down these names leads through a link below `root`."""
    _root, *below = accumulate(names, os.path.join, initial=str(root))
    return any(map(os.path.islink, below))


def leads_out(path: Path, root: Path) -> bool:
    """Whether links lead a path below `root` out of it; one that leads to itself leads nowhere."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


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


def expectation(loader: ModuleType, source: Source, name: str, settings: LoaderSettings) -> Expected:
    """The counts that must come out; empty where anything may. Raises UserError where nobody said."""
    if settings.expect is None:
        return {}
    if settings.expect or not hasattr(loader, "expected"):
        return {key: (value,) for key, value in settings.expect.items()}
    known: Expected | None = loader.expected(source, settings)
    if known is None:
        which = source.split or "this source"
        raise UserError(
            f"datasets.{name}: how many items {which} should hold is not known here; write "
            "settings.expect: {items: N}, or settings.expect: null for any number"
        )
    return known


class Tally:
    """Counts entries as they pass."""

    def __init__(self, expected: Expected) -> None:
        self._expected = expected
        self._counts = Counter[str]()
        self._groups: set[str] = set()

    def counting(self, entries: Iterable[RawItem | Rejected]) -> Iterator[RawItem | Rejected]:
        """Passes the entries on."""
        for entry in entries:
            self._counts["items"] += 1
            if isinstance(entry, RawItem):
                self._count(entry)
            yield entry

    def _count(self, item: RawItem) -> None:
        options = len(known_options(item.options))
        names = ["open" if item.kind == "text" else "choice", f"images {len(item.images)}"]
        names += [f"category {item.category}"] if item.category else []
        names += ["hints"] if item.hint else []
        if item.kind == "choice":
            letters = dict(enumerate(ascii_uppercase[:options]))
            names += [f"options {options}"]
            names += [f"answer {letters[answer]}" for answer in item.answers[:1] if answer in letters]
        self._counts.update(names)
        if item.group is not None:
            self._groups.add(item.group)

    def check(self, where: str) -> None:
        """Raises UserError where a count is not what it should be."""
        self._counts["groups"] = len(self._groups)
        wrong = [
            f"{key}: {' or '.join(f'{value:,}' for value in sorted(values))} expected, "
            f"{self._counts[key]:,} found"
            for key, values in self._expected.items()
            if self._counts[key] not in values
        ]
        if wrong:
            more = f" (and {len(wrong) - 1} more counts)" if len(wrong) > 1 else ""
            raise UserError(
                f"{where}: {wrong[0]}{more}; it is not the dataset that was meant, or a part of it: correct "
                "origin, or say in settings.expect what to expect (null: anything)"
            )
