"""Metrics of prediction sets, OF_SETS, from SetCounts. To add one, add an entry."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.responses import Array

SHARE_OF_SIZE = 0.05
"""Sizes that fewer of the test rows have are left out of worst_size_coverage: a handful says nothing."""


@dataclass(frozen=True)
class SetCounts:
    """How many test rows have which prediction set.

    counted [..., s]  rows with each code: 4 size + 2 covered + empty, the last before the set was filled
    correct [...]     mean share of the prediction that is correct, over the same rows
    options [...]     their mean number of options
    """

    counted: NDArray[np.int64]
    correct: Array
    options: Array

    @property
    def size(self) -> NDArray[np.int64]:
        """[s] size of a code's filled set."""
        return np.arange(self.counted.shape[-1]) >> 2

    @property
    def covered(self) -> NDArray[np.int64]:
        """[s] whether the filled set holds an answer."""
        return np.arange(self.counted.shape[-1]) >> 1 & 1

    @property
    def empty(self) -> NDArray[np.int64]:
        """[s] whether the set was empty before it was filled."""
        return np.arange(self.counted.shape[-1]) & 1

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """[...] how many test rows there are."""
        return np.asarray(self.counted.sum(axis=-1))

    def mean(self, values: NDArray[np.int64] | NDArray[np.bool_]) -> Array:
        """[...] mean over the rows of a quantity [s] of the codes."""
        return np.asarray((self.counted * values).sum(axis=-1) / self.rows)


def uacc(sets: SetCounts) -> Array:
    """[...] accuracy sqrt(K) / set size; exceeds 1 where sets are small.

    K is the mean number of options where prompts differ.
    """
    return np.asarray(sets.correct * np.sqrt(sets.options) / sets.mean(sets.size))


def unfilled_coverage(sets: SetCounts) -> Array:
    """[...] share of the sets that hold an answer and were not empty."""
    return sets.mean(sets.covered * (1 - sets.empty))


def set_size_share(sets: SetCounts) -> dict[str, Array]:
    """Size, from 1 to the largest -> [...] share of the sets that have it."""
    return {str(size): sets.mean(sets.size == size) for size in range(1, int(sets.size.max()) + 1)}


def worst_size_coverage(sets: SetCounts) -> Array:
    """[...] minimum over the sizes of the share of sets of that size that hold an answer."""
    worst = np.ones(sets.counted.shape[:-1])
    for size in range(1, int(sets.size.max()) + 1):
        share = sets.mean(sets.size == size)
        covered = sets.mean((sets.size == size) & (sets.covered == 1))
        enough = share >= SHARE_OF_SIZE
        worst = np.where(enough, np.minimum(worst, covered / np.where(enough, share, 1)), worst)
    return worst


OF_SETS: dict[str, Callable[[SetCounts], Any]] = {
    # Coverage above its target is no merit, but the benchmark's tables rank it so.
    "coverage": lambda sets: sets.mean(sets.covered),
    "empty_rate": lambda sets: sets.mean(sets.empty),
    "set_size": lambda sets: sets.mean(sets.size),
    "set_size_share": set_size_share,
    "singleton_rate": lambda sets: sets.mean(sets.size == 1),
    "uacc": uacc,
    "unfilled_coverage": unfilled_coverage,
    "worst_size_coverage": worst_size_coverage,
}
