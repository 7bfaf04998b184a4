"""Metrics, one file each; the file name is the metric's name. A file defines one of

per_row(probabilities) -> [n] or None   a number or truth value a row, the metric is its mean; None where it
                                  does not apply. a rate unless the file names another UNIT
of_sets(sets) -> [...]            from SetCounts of one split or of each of many
of_bins(bins) -> [...]            from Bins of equal width; of_mass(bins) from Bins of equally many rows
of_order(order) -> [...]          from Order, the rows in descending order of confidence; NaN: undefined
of_letters(letters) -> [...]      from Letters
of_scaled(scaled) -> [splits]     from Scaled (vouch/metrics/calibration/temperature.py)

A number becomes a figure of the file's name; a dictionary one of the name and each key. Where the authors'
reading has the metric as well, AUTHORS_ROWS says which rows they average: `test` or `all`.
"""

from dataclasses import dataclass
from string import ascii_uppercase

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SetCounts:
    """How many test rows have which prediction set.

    counted [..., s]  rows in each state: 4 size + 2 covered + empty, the last before the set was filled
    correct [...]     mean share of the prediction that is correct, over the same rows
    options [...]     their mean number of options
    """

    counted: NDArray[np.int64]
    correct: NDArray[np.float64]
    options: NDArray[np.float64]

    @property
    def size(self) -> NDArray[np.int64]:
        """[s] size of a state's filled set."""
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
        """[...] mean over the rows of a quantity [s] of the states."""
        return np.asarray((self.counted * values).sum(axis=-1) / self.counted.sum(axis=-1))


@dataclass(frozen=True)
class Order:
    """Rows in blocks of equal confidence, the surest first, [..., b]: how many, and their sum of correctness.

    Equals share their correctness, so no metric depends on the order in which they stand.
    """

    count: NDArray[np.float64]
    correct: NDArray[np.float64]


@dataclass(frozen=True)
class Letters:
    """Per letter, [..., k]: the share of the predictions on it, and of the right answers; both sum to 1."""

    chosen: NDArray[np.float64]
    right: NDArray[np.float64]

    def by_letter(self, shares: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """The shares by name of the letter."""
        return {ascii_uppercase[k]: shares[..., k] for k in range(shares.shape[-1])}
