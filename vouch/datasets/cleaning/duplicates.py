"""Flags that compare items: copies of a question, and images that are the same or nearly the same.

Copies have the same question, hint, images (by their bytes) and text of the correct options; wrong options
may differ, because some sources fill each copy up with others. Items without images count only where the
source itself has put them into one group: their images may exist elsewhere, and `What is shown?` asks
something different of each.

Two images are near duplicates (rescaled, recompressed, or with a detail changed) if
- their hashes (vouch/images/copies.py) differ in at most BITS of 63 bits, and
- no colour channel of a cell of their 16 x 16 grids differs by more than CELL of 255, and
- their mean brightness differs by at most LIGHT of 255, and
- their shapes, width by height, differ by at most SHAPE.
The second rule makes it precise: by the hash alone, tables of the same layout, or one outline map with
another country marked, are the same. What still passes are images that differ in less than a cell, such as a
changed name; they are worth a look, so nothing is dropped because of this flag. Images of one colour are left
out: they have their own flag.

If two hashes differ in at most BITS bits, one of their quarters differs in at most one bit. So each image is
looked up under 17 keys in four columns, sorted by quarter and brightness. Where many share a quarter, an
image is compared only with the NEIGHBOURS next to it in brightness (FLIPPED under a key with a changed bit),
so that the time stays near linear.
"""

import hashlib
import json
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vouch.datasets.cleaning.flags import visible
from vouch.datasets.read.images import ImageFacts, digest_of
from vouch.images.copies import CELLS


def default_group(name: str, images: Sequence[str]) -> str:
    """The group of all questions about the same images, in 32 hexadecimal digits, or of an item without any.

    Its wording does not group it: `Is there a dog in the image?` may be asked of many images that the source
    lacks.
    name: the item's id. images: digests of their bytes.
    """
    return digest_of(json.dumps(sorted(set(images)) or [name]).encode())[:32]


def key_of(row: Mapping[str, Any]) -> bytes:
    """16 bytes that are equal for copies: of question, hint, images (or group), answers and references.

    Options without a text are distinguished by their index.
    """
    seen = ["images", *row["images"]] if row["images"] else ["group", row["group"]]
    correct = sorted(_normal(row["options"][index]) or f"\0{index}" for index in row["answers"])
    asked, references = _normal(row["question"]), sorted(map(_normal, row["references"]))
    text = json.dumps([asked, _normal(row["hint"] or ""), seen, correct, references])
    return hashlib.sha256(text.encode()).digest()[:16]


def _normal(text: str) -> str:
    """A text as a person reads it: without invisible characters and further blanks."""
    return " ".join(unicodedata.normalize("NFC", visible(text)).split())


class Copies:
    """Finds copies among items that are added one after the other."""

    def __init__(self) -> None:
        self._count = 0
        self._copies: dict[bytes, list[tuple[int, str, int]]] = defaultdict(list)

    def add(self, row: Mapping[str, Any]) -> None:
        """The next item: a row as for `key_of`, with its id."""
        if row["images"] or row["group"] != default_group(row["id"], ()):
            # only compares options; never stored, so it may differ between runs
            same_options = hash(tuple(map(_normal, row["options"])))
            self._copies[key_of(row)].append((self._count, row["group"], same_options))
        self._count += 1

    def flags(self) -> dict[int, set[str]]:
        """Flags by the index of the item."""
        flags: dict[int, set[str]] = {}
        for copies in self._copies.values():
            if len(copies) > 1:
                groups = {group for _, group, _ in copies}
                orders = Counter(options for _, _, options in copies)
                flags |= {index: _copy_flags(len(groups), orders, options) for index, _, options in copies}
        return flags


def _copy_flags(groups: int, orders: Mapping[int, int], own: int) -> set[str]:
    """Flags of one of several copies.

    groups: number of groups that they are in. orders: number of copies with the same options in the same
    order.
    """
    flags = {
        "repeated_item": orders[own] > 1,
        "circular_copy": len(orders) > 1,
        "copies_apart": groups > 1,
    }
    return {flag for flag, holds in flags.items() if holds}


BITS = 7
CELL = 8
LIGHT = 3
SHAPE = 0.05
NEIGHBOURS = 32
FLIPPED = 16
_QUARTER = 16
_BRIGHTEST = 2**18  # above the sum of all cells
_EVERY = 47  # 17 of the 768 values, of all channels and from all over the grid
_SIMILAR_PAIRS = 2**19  # compared at a time


@dataclass(frozen=True)
class Use:
    """An item that shows an image.

    asks: digest of its question, empty if the item cannot be compared (several images, no options).
    answer: texts of the correct options, in one.
    """

    item: int
    group: str
    asks: str
    answer: str


def near_pairs(images: Sequence[ImageFacts]) -> np.ndarray:
    """[p, 2] indices i < j of near duplicates, sorted."""
    chosen = np.array([n for n, image in enumerate(images) if not image.blank], dtype=np.int64)
    if len(chosen) < 2:
        return np.empty((0, 2), dtype=np.int64)
    hashes = np.array([images[n].look.hash for n in chosen], dtype=np.uint64)
    cells = np.frombuffer(b"".join(images[n].look.cells for n in chosen), np.uint8).reshape(len(chosen), -1)
    few = np.ascontiguousarray(cells[:, ::_EVERY])
    shapes = np.array([images[n].width / images[n].height for n in chosen])
    brightness = cells.sum(axis=1, dtype=np.int64)
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for left, right in _candidates(hashes, brightness):
        close = np.bitwise_count(hashes[left] ^ hashes[right]) <= BITS
        close &= np.abs(shapes[left] - shapes[right]) <= SHAPE * np.minimum(shapes[left], shapes[right])
        for values in (few, cells):  # most pairs already differ in the few
            left, right = left[close], right[close]
            close = np.abs(values[left].astype(np.int16) - values[right]).max(axis=1, initial=0) <= CELL
        pairs.append(np.stack([left[close], right[close]], axis=1))
    return chosen[np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)]


def _candidates(hashes: np.ndarray, brightness: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Indices of images worth comparing, a bounded number of pairs at a time."""
    for quarter in range(0, 64, _QUARTER):
        keys = ((hashes >> np.uint64(quarter)) & np.uint64(2**_QUARTER - 1)).astype(np.int64)
        sortable = keys * _BRIGHTEST + brightness
        order = np.argsort(sortable, kind="stable")
        ordered, keys, bright = sortable[order], keys[order], brightness[order]
        top = np.minimum(bright + LIGHT * CELLS * CELLS * 3, _BRIGHTEST - 1)
        for mask in (0, *(1 << bit for bit in range(_QUARTER))):
            partner = (keys ^ mask) * _BRIGHTEST
            # each pair once, from its darker member
            start = np.searchsorted(ordered, partner + bright) if mask else np.arange(1, len(order) + 1)
            stop = np.searchsorted(ordered, partner + top, "right")
            yield from _expanded(order, start, np.clip(stop - start, 0, FLIPPED if mask else NEIGHBOURS))


def _expanded(
    order: np.ndarray, start: np.ndarray, count: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The pairs of each image with those at [start, start + count) of `order`."""
    busy = np.flatnonzero(count)
    ends = np.cumsum(count[busy])
    done = 0
    while done < len(busy):
        before = int(ends[done - 1]) if done else 0
        upto = max(done + 1, int(np.searchsorted(ends, before + _SIMILAR_PAIRS, "right")))
        rows = busy[done:upto]
        repeated = np.repeat(rows, count[rows])
        offsets = np.arange(len(repeated)) - np.repeat(np.cumsum(count[rows]) - count[rows], count[rows])
        yield order[repeated], order[start[repeated] + offsets]
        done = upto


def similar_flags(images: Mapping[str, ImageFacts], uses: Mapping[str, Sequence[Use]]) -> dict[int, set[str]]:
    """Flags by the index of the item. images, uses: by the image's digest."""
    flags: dict[int, set[str]] = defaultdict(set)
    all_users = list(uses.values())
    for users in all_users:
        if len({use.group for use in users}) > 1:
            _add_flag(flags, users, "shared_image")
        _add_flag(flags, _conflicting(users), "conflicting_answer")
    for i, j in near_pairs([images[digest] for digest in uses]).tolist():
        first, second = all_users[i], all_users[j]
        if len({use.group for use in (*first, *second)}) > 1:
            _add_flag(flags, (*first, *second), "near_duplicate_image")
        _add_flag(flags, _conflicting((*first, *second)), "conflicting_answer")
    return flags


def _add_flag(flags: dict[int, set[str]], users: Sequence[Use], flag: str) -> None:
    for use in users:
        flags[use.item].add(flag)


def _conflicting(users: Sequence[Use]) -> list[Use]:
    """The uses that ask the same of the same image as another use, but have another answer."""
    answers: dict[str, set[str]] = defaultdict(set)
    for use in users:
        if use.asks:
            answers[use.asks].add(use.answer)
    return [use for use in users if use.asks and len(answers[use.asks]) > 1]
