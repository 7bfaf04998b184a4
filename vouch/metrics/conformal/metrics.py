"""Metrics of prediction sets, OF_SETS, from SetCounts. To add one, add an entry."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.registry import OPTIONS, Formula, Metric

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
    correct: NDArray[np.float64]
    options: NDArray[np.float64]

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

    def mean(self, values: NDArray[np.int64] | NDArray[np.bool_]) -> NDArray[np.float64]:
        """[...] mean over the rows of a quantity [s] of the codes."""
        return np.asarray((self.counted * values).sum(axis=-1) / self.counted.sum(axis=-1))


def uacc(sets: SetCounts) -> NDArray[np.float64]:
    """[...] accuracy sqrt(K) / set size; exceeds 1 where sets are small.

    K is the mean number of options where prompts differ.
    """
    return np.asarray(sets.correct * np.sqrt(sets.options) / sets.mean(sets.size))


def unfilled_coverage(sets: SetCounts) -> NDArray[np.float64]:
    """[...] share of the sets that hold an answer and were not empty."""
    return sets.mean(sets.covered * (1 - sets.empty))


def set_size_share(sets: SetCounts) -> dict[str, NDArray[np.float64]]:
    """Size, from 1 to the largest -> [...] share of the sets that have it."""
    return {str(size): sets.mean(sets.size == size) for size in range(1, int(sets.size.max()) + 1)}


def worst_size_coverage(sets: SetCounts) -> NDArray[np.float64]:
    """[...] minimum over the sizes of the share of sets of that size that hold an answer."""
    worst = np.ones(sets.counted.shape[:-1])
    for size in range(1, int(sets.size.max()) + 1):
        share = sets.mean(sets.size == size)
        covered = sets.mean((sets.size == size) & (sets.covered == 1))
        enough = share >= SHARE_OF_SIZE
        worst = np.where(enough, np.minimum(worst, covered / np.where(enough, share, 1)), worst)
    return worst


OF_SETS: dict[str, Formula[SetCounts]] = {
    # Coverage above its target is no merit, but the benchmark's tables rank it so.
    "coverage": Formula(
        Metric("Coverage", "share of sets that hold the answer", "higher", ranked=True),
        lambda sets: sets.mean(sets.covered),
        authors="test",
    ),
    "empty_rate": Formula(
        Metric("Empty", "sets that were empty before the most probable option filled them"),
        lambda sets: sets.mean(sets.empty),
    ),
    "set_size": Formula(
        Metric("Set size", "mean number of options in a set", "lower", OPTIONS, ranked=True),
        lambda sets: sets.mean(sets.size),
        authors="test",
    ),
    "set_size_share": Formula(Metric("Sets of a size", "share of the sets that have it"), set_size_share),
    "singleton_rate": Formula(
        Metric("One option", "share of sets with a single option", "higher"),
        lambda sets: sets.mean(sets.size == 1),
    ),
    "uacc": Formula(
        Metric(
            "UAcc",
            "accuracy times the root of the number of options over set size, mean of both scores",
            "higher",
            "",
            "Kostumov et al. 2024, equation 7",
            ranked=True,
        ),
        uacc,
        authors="test",
    ),
    "unfilled_coverage": Formula(
        Metric("Coverage, unfilled", "before empty sets are filled: what the guarantee speaks about"),
        unfilled_coverage,
    ),
    "worst_size_coverage": Formula(
        Metric(
            "Worst size, coverage",
            "lowest coverage among sets of one size that at least 5 % of the questions have",
            "higher",
            source="Angelopoulos et al. 2021",
        ),
        worst_size_coverage,
    ),
}
DECLARED: dict[str, Metric] = {name: each.metric for name, each in OF_SETS.items()}
