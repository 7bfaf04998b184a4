"""Means of paired differences, and their intervals by a bootstrap over whole groups.

Both take sums over groups, of whole numbers: these add up exactly, so no order of summation and no number of
threads can move a bit.
"""

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.intervals import AT_ONCE, SHARES

Array = NDArray[np.float64]


def means(sums: Array, counts: Array) -> Array:
    """[columns] mean gap, from the sums and numbers of gaps [groups, columns]; 0 where there is none."""
    return np.asarray(sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1))


def intervals(sums: Array, counts: Array, seed: int, resamples: int) -> tuple[Array, Array]:
    """[columns] 2.5 and 97.5 percentiles of the mean gap over resamples of whole groups.

    NaN where fewer than two groups have a gap, and where all groups agree on one other than 0.
    """
    low, high = np.percentile(bootstrap(sums, counts, seed, resamples), SHARES, axis=0)
    known = ((counts > 0).sum(axis=0) > 1) & ((low < high) | (means(sums, counts) == 0))
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def bootstrap(sums: Array, counts: Array, seed: int, resamples: int) -> Array:
    """[resamples, columns] mean gaps when whole groups are drawn with replacement."""
    generator, total = np.random.RandomState(seed), len(sums)
    drawn = []
    for start in range(0, resamples, AT_ONCE):
        size = min(AT_ONCE, resamples - start)
        draws = generator.randint(0, total, (size, total)) + np.arange(size)[:, None] * total
        weights = np.bincount(draws.ravel(), minlength=size * total).reshape(size, total).astype(float)
        drawn.append((weights @ sums) / np.maximum(weights @ counts, 1))
    return np.concatenate(drawn)
