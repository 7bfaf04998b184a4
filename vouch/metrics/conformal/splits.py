"""Which items calibrate and which test."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.responses import Array, Bools, Ints

BYTES = 1 << 13
"""Of each split at a time, so that they stay in the processor's cache."""
DIGITS = 12
"""That count of a number somebody worked out, such as 1 - 0.9; the rest is rounding."""


def meant(number: float) -> Fraction:
    """The number that was meant by one in floating point."""
    return Fraction(f"{number:.{DIGITS}g}")


@dataclass(frozen=True)
class Splits:
    """Which of n rows calibrate in each split; the others test. Iterating gives a split [n] at a time.

    packed: [splits, bytes] rows by np.packbits, so that 100 splits of a million rows take 12 MiB.
    """

    packed: NDArray[np.uint8]
    rows: int

    @classmethod
    def of(cls, splits: Iterable[Bools], rows: int) -> "Splits":
        """From whether each of n rows calibrates [n], a split at a time."""
        return cls(np.stack([np.packbits(split) for split in splits]), rows)

    def __len__(self) -> int:
        return len(self.packed)

    def __iter__(self) -> Iterator[Bools]:
        for packed in self.packed:
            yield np.unpackbits(packed, count=self.rows).view(bool)

    def calibrating(self, rows: Ints | None = None) -> Bools:
        """[splits, r] whether the given rows (all by default) calibrate."""
        if rows is None:
            return np.unpackbits(self.packed, axis=1, count=self.rows).view(bool)
        found = np.take(self.packed, rows >> 3, axis=1)
        found >>= np.bitwise_not(rows).astype(np.uint8) & 7  # the first row of a byte is its highest bit
        found &= 1
        return found.view(bool)

    def count(self, marked: Bools) -> Ints:
        """[splits] how many of the marked rows [n] calibrate."""
        bits = np.packbits(marked)
        counted = np.zeros(len(self), dtype=np.int64)
        for start in range(0, len(bits), BYTES):
            found = self.packed[:, start : start + BYTES] & bits[start : start + BYTES]
            counted += np.bitwise_count(found).sum(axis=1, dtype=np.int64)
        return counted

    def part(self, start: int, stop: int) -> "Splits":
        """The same splits of consecutive rows."""
        return Splits.of((split[start:stop] for split in self), stop - start)

    @cached_property
    def sizes(self) -> Ints:
        """[splits] how many rows calibrate."""
        return self.count(np.ones(self.rows, dtype=bool))

    def test_means(self, values: np.ndarray) -> Array:
        """[splits] mean of values [n] over the rows that test; exact sums of equal values at a time."""
        total = np.zeros(len(self))
        # Sorting a million booleans to find out that there are two of them takes as long as all else here.
        for value in (False, True) if values.dtype == bool else np.unique(values):
            rows = values == value
            total += float(value) * (np.count_nonzero(rows) - self.count(rows))
        return total / (self.rows - self.sizes)

    @cached_property
    def tests(self) -> Ints:
        """[n] in how many splits a row tests."""
        times = np.full(self.rows, len(self))
        for split in self:
            times -= split
        return times


def group_splits(groups: Ints, calibration: float, seed: int, splits: int) -> Splits:
    """Splits of n rows that keep whole groups on one side.

    groups [n]: numbers from 0; which number a group has decides where it falls, the order of the
    rows does not. Each split draws floor(calibration G) of the G groups without replacement: those with
    the smallest of G random numbers, of equals the first. Another share draws from the same numbers, so
    a larger calibration half holds the smaller one. Generator: SFC64, whose raw stream numpy has frozen.
    """
    numbers = np.unique(groups, return_inverse=True)[1]
    total = int(numbers.max(initial=-1)) + 1
    chosen = math.floor(meant(calibration) * total)
    source = np.random.SFC64(seed)

    def drawn() -> Iterator[Bools]:
        for _ in range(splits):
            raw = source.random_raw(-(-total // 2)).astype("<u8", copy=False).view("<u4")[:total]
            yield _smallest(raw, chosen)[numbers]

    return Splits.of(drawn(), len(groups))


def _smallest(draws: NDArray[np.uint32], chosen: int) -> Bools:
    """[n] the so many smallest of the draws [n], of equals the first."""
    if not chosen:
        return np.zeros(len(draws), dtype=bool)
    last = np.partition(draws, chosen - 1)[chosen - 1]
    found = draws <= last
    spare = int(np.count_nonzero(found)) - chosen
    if spare:
        found[np.flatnonzero(draws == last)[-spare:]] = False
    return np.asarray(found)
