"""Which items calibrate and which test."""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.responses import Bools, Ints

WORDS = 1 << 16
"""Words of bits that are counted at a time, so that memory stays flat."""


@lru_cache(maxsize=8)
def authors_split(count: int, calibration: float, seed: int) -> tuple[Ints, Ints]:
    """(test, calibration) row numbers, as sklearn's train_test_split(train_size, random_state) draws them.

    A seeded permutation of all rows: the first n - floor(calibration n) test, the rest calibrate.
    Groups are torn apart. Generator: the legacy Mersenne Twister, whose stream numpy has frozen.
    Variations share the number of rows and so the split: it is remembered, hence read-only.
    """
    order = np.random.RandomState(seed).permutation(count)
    order.setflags(write=False)
    tests = count - math.floor(calibration * count)
    return order[:tests], order[tests:]


@dataclass(frozen=True)
class Splits:
    """Which of n rows calibrate in each split; the others test.

    bits [splits, words] one bit a row, rows in order from the lowest bit of the first word
    rows n
    """

    bits: NDArray[np.uint64]
    rows: int

    def calibrating(self, rows: Ints | None = None) -> Bools:
        """[splits, r] whether the given rows (all by default) calibrate."""
        octets = self.bits.view(np.uint8)
        if rows is None:
            return np.unpackbits(octets, axis=1, count=self.rows, bitorder="little").view(bool)
        return ((octets[:, rows >> 3] >> (rows & 7).astype(np.uint8)) & 1).view(bool)

    def count(self, marked: Bools) -> Ints:
        """[splits] how many of the marked rows [n] calibrate."""
        packed, found = pack(marked), np.empty(len(self.bits), dtype=np.int64)
        step = max(1, WORDS // max(1, len(packed)))
        for start in range(0, len(found), step):
            both = self.bits[start : start + step] & packed
            found[start : start + step] = np.bitwise_count(both).sum(axis=1, dtype=np.int64)
        return found

    def part(self, start: int, stop: int) -> "Splits":
        """The same splits of consecutive rows."""
        rows = self.calibrating(np.arange(start, stop))
        return Splits(np.array([pack(split) for split in rows]), stop - start)

    @cached_property
    def sizes(self) -> Ints:
        """[splits] how many rows calibrate."""
        return np.asarray(np.bitwise_count(self.bits).sum(axis=1, dtype=np.int64))

    @cached_property
    def tests(self) -> Ints:
        """[n] in how many splits a row tests."""
        times = np.full(self.rows, len(self.bits), dtype=np.int64)
        for octets in self.bits.view(np.uint8):
            times -= np.unpackbits(octets, count=self.rows, bitorder="little")
        return times


def pack(marked: Bools) -> NDArray[np.uint64]:
    """[words] the marks [n] as bits."""
    octets = np.zeros(-(-len(marked) // 64) * 8, dtype=np.uint8)
    octets[: -(-len(marked) // 8)] = np.packbits(marked, bitorder="little")
    return octets.view(np.uint64)


def group_splits(groups: Ints, calibration: float, seed: int, splits: int) -> Splits:
    """Splits of n rows that keep whole groups on one side.

    groups [n]: numbers from 0; which number a group has decides where it falls, the order of the
    rows does not. Each split draws floor(calibration G) of the G groups without replacement: those with
    the smallest of G random numbers, of equals the first. Another share draws from the same numbers, so
    a larger calibration half holds the smaller one. Generator: SFC64, whose raw stream numpy has frozen.
    """
    plain = np.array_equal(groups, np.arange(len(groups)))
    numbers = groups if plain else np.unique(groups, return_inverse=True)[1]
    total = int(numbers.max(initial=-1)) + 1
    chosen = math.floor(calibration * total)
    source = np.random.SFC64(seed)
    bits = np.empty((splits, -(-len(groups) // 64)), dtype=np.uint64)
    for split in range(splits):
        draws = source.random_raw(-(-total // 2)).astype("<u8", copy=False).view("<u4")[:total]
        calibrating = _smallest(draws, chosen)
        bits[split] = pack(calibrating if plain else calibrating[numbers])
    return Splits(bits, len(groups))


def _smallest(draws: NDArray[np.uint32], chosen: int) -> Bools:
    if not chosen:
        return np.zeros(len(draws), dtype=bool)
    last = np.partition(draws, chosen - 1)[chosen - 1]
    found = draws <= last
    spare = int(np.count_nonzero(found)) - chosen
    if spare:
        found[np.flatnonzero(draws == last)[-spare:]] = False
    return np.asarray(found)


def sibling_share(groups: Ints, test: Ints, calibration: Ints) -> float:
    """Share of the test rows that have another row of their group in the calibration half."""
    seen = np.zeros(int(groups.max()) + 1, dtype=bool)
    seen[groups[calibration]] = True
    return float(seen[groups[test]].mean())
