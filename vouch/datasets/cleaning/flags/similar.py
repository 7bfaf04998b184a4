"""Pictures that are the same, or nearly: rescaled, recompressed, or with a detail changed.

Two pictures are near duplicates if
- their hashes (vouch/images/hashing.py) differ in at most BITS of 63 bits, and
- no colour channel of a cell of their 16 x 16 grids differs by more than CELL of 255, and
- their mean brightness differs by at most LIGHT of 255, and
- their shapes, width by height, differ by no more than SHAPE.
The second rule is what makes it precise: a hash alone takes tables of the same layout, or one outline
map with another country marked, for the same. What stays are pictures that differ in less than a cell
shows, such as a changed name: these are worth a look, so nothing is dropped for it. Pictures of one
colour are left out: they have no look, and a flag of their own.

Of pairs within BITS one quarter of the hash differs in one bit at most, so each picture is looked up in
four columns, sorted by quarter and brightness, under 17 keys. Where many share a quarter, it is
compared with the NEIGHBOURS (or FLIPPED, under a key with a bit changed) next to it in brightness only,
so that the time stays near-linear.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vouch.datasets.cleaning.cleaning import Picture
from vouch.images.hashing import CELLS

BITS = 7
CELL = 8
LIGHT = 3
SHAPE = 0.05
NEIGHBOURS = 32
FLIPPED = 16
_QUARTER = 16
_BRIGHTEST = 2**18  # above the sum of all cells
_EVERY = 47  # 17 of the 768 values, of all channels and from all over the grid
_PAIRS = 2**19  # compared at a time


@dataclass(frozen=True)
class Use:
    """An item that shows one or several pictures. about: a digest of its question, or nothing if the item
    cannot be compared (several pictures, no options). right: of the correct options' texts, as one."""

    item: int
    group: str
    about: str
    right: str


def near_pairs(pictures: Sequence[Picture]) -> np.ndarray:
    """[p, 2] positions i < j of near duplicates, sorted."""
    chosen = np.array([n for n, picture in enumerate(pictures) if not picture.blank], dtype=np.int64)
    if len(chosen) < 2:
        return np.empty((0, 2), dtype=np.int64)
    hashes = np.array([pictures[n].look.hash for n in chosen], dtype=np.uint64)
    cells = np.frombuffer(b"".join(pictures[n].look.cells for n in chosen), np.uint8).reshape(len(chosen), -1)
    few = np.ascontiguousarray(cells[:, ::_EVERY])
    shapes = np.array([pictures[n].width / pictures[n].height for n in chosen])
    brightness = cells.sum(axis=1, dtype=np.int64)
    found = [np.empty((0, 2), dtype=np.int64)]
    for left, right in _candidates(hashes, brightness):
        close = np.bitwise_count(hashes[left] ^ hashes[right]) <= BITS
        close &= np.abs(shapes[left] - shapes[right]) <= SHAPE * np.minimum(shapes[left], shapes[right])
        for values in (few, cells):  # most pairs fall at the few
            left, right = left[close], right[close]
            close = np.abs(values[left].astype(np.int16) - values[right]).max(axis=1, initial=0) <= CELL
        found.append(np.stack([left[close], right[close]], axis=1))
    return chosen[np.unique(np.sort(np.concatenate(found), axis=1), axis=0)]


def _candidates(hashes: np.ndarray, brightness: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions of pictures worth comparing, a bounded number of pairs at a time."""
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
    """The pairs that ranges [start, start + count) of `order` stand for."""
    busy = np.flatnonzero(count)
    ends = np.cumsum(count[busy])
    done = 0
    while done < len(busy):
        before = int(ends[done - 1]) if done else 0
        upto = max(done + 1, int(np.searchsorted(ends, before + _PAIRS, "right")))
        rows = busy[done:upto]
        repeated = np.repeat(rows, count[rows])
        offsets = np.arange(len(repeated)) - np.repeat(np.cumsum(count[rows]) - count[rows], count[rows])
        yield order[repeated], order[start[repeated] + offsets]
        done = upto


def flags(pictures: Mapping[str, Picture], uses: Mapping[str, Sequence[Use]]) -> dict[int, set[str]]:
    """Flags by the position of the item. pictures, uses: by the picture's digest."""
    found: dict[int, set[str]] = defaultdict(set)
    all_users = list(uses.values())
    for users in all_users:
        if len({use.group for use in users}) > 1:
            _mark(found, users, "shared_image")
        _mark(found, _conflicting(users), "conflicting_answer")
    for i, j in near_pairs([pictures[digest] for digest in uses]).tolist():
        first, second = all_users[i], all_users[j]
        if len({use.group for use in (*first, *second)}) > 1:
            _mark(found, (*first, *second), "near_duplicate_image")
        _mark(found, _conflicting((*first, *second)), "conflicting_answer")
    return found


def _mark(found: dict[int, set[str]], users: Sequence[Use], flag: str) -> None:
    for use in users:
        found[use.item].add(flag)


def _conflicting(users: Sequence[Use]) -> list[Use]:
    """Those that ask the same of the same picture as another one, and have another answer."""
    answers: dict[str, set[str]] = defaultdict(set)
    for use in users:
        if use.about:
            answers[use.about].add(use.right)
    return [use for use in users if use.about and len(answers[use.about]) > 1]
