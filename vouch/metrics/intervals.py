"""Intervals, 95 % unless asked otherwise, that respect groups: rows of one group are not independent."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import stdtrit

from vouch.metrics.calibration.bins import Bins
from vouch.metrics.responses import Bools, Floats, Ints

RESAMPLES = 1000
AT_ONCE = 100  # resamples, so that memory stays flat
LEVEL = 0.95
SHARES = (2.5, 97.5)


def cluster_mean(
    values: Floats | Bools, groups: Ints, level: float = LEVEL
) -> tuple[float | None, float | None]:
    """Interval of the mean of a rate, values in 0 ... 1 [n], by the sandwich formula over groups [n].

    Variance G/(G-1) sum_g (sum_{i in g} (x_i - mean))^2 / n^2 (Liang and Zeger 1986), quantile of
    Student's t with G-1 degrees of freedom, cut at 0 and 1. Where all values are 0 or all are 1, the
    one-sided exact bound on G groups (Clopper and Pearson 1934). (None, None) with fewer than two groups.
    """
    clusters = int(np.count_nonzero(np.bincount(groups)))
    if clusters < 2:
        return None, None
    centre = float(values.mean())
    if centre in (0.0, 1.0):
        bound = ((1 - level) / 2) ** (1 / clusters)
        return (0.0, 1 - bound) if centre == 0 else (bound, 1.0)
    reach = _reach(values, groups, clusters, level)
    return max(0.0, centre - reach), min(1.0, centre + reach)


def cluster_number(values: Floats, groups: Ints) -> tuple[float | None, float | None]:
    """The same for numbers >= 0 without a largest one; (None, None) also where all are equal."""
    clusters = int(np.count_nonzero(np.bincount(groups)))
    if clusters < 2 or (values == values[0]).all():
        return None, None
    centre, reach = float(values.mean()), _reach(values, groups, clusters, LEVEL)
    return max(0.0, centre - reach), centre + reach


def _reach(values: Floats | Bools, groups: Ints, clusters: int, level: float) -> float:
    residuals = np.bincount(groups, values - values.mean())
    variance = clusters / (clusters - 1) * float((residuals**2).sum()) / len(values) ** 2
    return float(stdtrit(clusters - 1, (1 + level) / 2)) * math.sqrt(variance)


def resampled(sums: NDArray[np.float64] | sparse.csr_array, seed: int) -> NDArray[np.float64]:
    """[RESAMPLES, s] totals of the group sums [G, s] when G groups are drawn with replacement.

    Sparse arithmetic without BLAS: one order of summation, whatever the number of threads.
    """
    columns = sparse.csr_array(sums).T.tocsr()
    total, source = sums.shape[0], np.random.SFC64(seed)
    totals = []
    for _ in range(RESAMPLES // AT_ONCE):
        raw = source.random_raw(AT_ONCE * total).reshape(AT_ONCE, total) >> np.uint64(32)
        draws = (raw * np.uint64(total) >> np.uint64(32)).astype(np.int64)
        draws += np.arange(AT_ONCE)[:, None] * total
        weights = np.bincount(draws.ravel(), minlength=AT_ONCE * total).reshape(AT_ONCE, total)
        totals.append((columns @ np.ascontiguousarray(weights.T, dtype=np.float64)).T)
    return np.concatenate(totals)


def group_sums(groups: Ints, cells: Ints, values: Floats, width: int) -> sparse.csr_array:
    """[G, width] sums of values [m] by group [m] and cell [m] in 0 ... width - 1."""
    numbers = np.unique(groups, return_inverse=True)[1]
    shape = (int(numbers.max()) + 1, width)
    return sparse.coo_array((values, (numbers, cells)), shape=shape).tocsr()


def resampled_bins(
    slots: Ints, bins: int, confidence: Floats, correct: Floats | Bools, groups: Ints, seed: int
) -> Bins:
    """Bins [RESAMPLES, bins] of a bootstrap over whole groups; arguments [n] as for `tally`."""
    columns = (np.ones(len(slots)), confidence, correct)
    values = np.concatenate([np.asarray(column, dtype=np.float64) for column in columns])
    cells = np.concatenate([slots + k * bins for k in range(len(columns))])
    sums = group_sums(np.tile(groups, len(columns)), cells, values, len(columns) * bins)
    return Bins(*np.split(resampled(sums, seed), len(columns), axis=1))


def centred(value: float, draws: Floats, level: float = LEVEL) -> tuple[float | None, float | None]:
    """Interval of a number in 0 ... 1 from its bootstrap draws [RESAMPLES], NaN where it was undefined.

    Resampling adds noise to every bin and so moves calibration errors upwards; the percentiles are taken
    about the median of the draws instead of about their own place. (None, None) where half are undefined,
    or all are the same (one group): nothing is known of the spread then.
    """
    known = draws[~np.isnan(draws)]
    if len(known) < len(draws) / 2 or (known == known[0]).all():
        return None, None
    low, high = np.percentile(known, (50 - 50 * level, 50 + 50 * level)) - np.median(known)
    return max(0.0, value + float(low)), min(1.0, value + float(high))
