"""Intervals, 95 % unless asked otherwise, that respect groups: rows of one group are not independent.

Means use the sandwich formula, or an exact bound if all are 0 or 1; a bootstrap over whole groups gives the
rest.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np
import scipy

from vouch.metrics.responses import Array, Bools, Floats, Ints

RESAMPLES = 1000
AT_ONCE, DRAWN = 100, 1 << 16
"""The fewest resamples at a time, and about how many groups they draw: few enough for the cache."""
KEPT = 1 << 20
"""The most draws of a bootstrap that are kept for the next table with as many groups."""
LEVEL = 0.95
SHARES = (2.5, 97.5)
Interval = tuple[float | None, float | None]


def some(value: float) -> float | None:
    """The number; None for NaN."""
    return None if np.isnan(value) else float(value)


def mean_interval(values: Floats | Bools, groups: Ints, share: bool = True, level: float = LEVEL) -> Interval:
    """Interval of the mean of values [n] by the sandwich formula over groups [n].

    Variance G/(G-1) sum_g (sum_{i in g} (x_i - mean))^2 / n^2 (Liang and Zeger 1986), quantile of
    Student's t with G-1 degrees of freedom. (None, None) with fewer than two groups.

    share: values lie in 0 ... 1, and so does the interval; if all are 0 or all are 1, it is the one-sided
    exact bound on G groups (Clopper and Pearson 1934). If not, values are at least 0 and unbounded above,
    and if all are equal nothing is known about the spread: (None, None).
    """
    clusters = int(np.count_nonzero(np.bincount(groups)))
    if clusters < 2 or (not share and (values == values[0]).all()):
        return None, None
    centre = float(values.mean())
    if share and centre in (0.0, 1.0):
        bound = ((1 - level) / 2) ** (1 / clusters)
        return (0.0, 1 - bound) if centre == 0 else (bound, 1.0)
    residuals = np.bincount(groups, values - values.mean())
    variance = clusters / (clusters - 1) * float((residuals**2).sum()) / len(values) ** 2
    reach = float(scipy.special.stdtrit(clusters - 1, (1 + level) / 2)) * math.sqrt(variance)
    return max(0.0, centre - reach), min(1.0 if share else math.inf, centre + reach)


def signed_interval(values: Floats, groups: Ints) -> Interval:
    """`mean_interval` for values [n] of either sign; (None, None) if all are equal."""
    least = float(values.min())
    low, high = mean_interval(values - least, groups, share=False)
    return (None, None) if low is None or high is None else (low + least, high + least)


def wilson(hits: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Intervals of shares hits / n of independent rows, arrays of equal shape (Wilson 1927). n: above 0."""
    z = float(scipy.special.ndtri((1 + LEVEL) / 2))
    centre, spread = hits + z * z / 2, z * np.sqrt(hits * (n - hits) / n + z * z / 4)
    return np.maximum((centre - spread) / (n + z * z), 0.0), np.minimum((centre + spread) / (n + z * z), 1.0)


def share_interval(values: Bools, groups: Ints) -> tuple[float, float]:
    """Wilson's interval of the share of n >= 1 rows, which holds for small n and for shares near 0 and 1.

    n is divided by the design effect of groups [n] (at least 1) and lowered for few groups as in Korn and
    Graubard 1998. The interval is at least as wide as if all groups agreed, as few groups say little about
    how they differ.
    """
    clusters, n, share = int(np.count_nonzero(np.bincount(groups))), len(values), float(values.mean())
    effective = float(clusters)
    if 0 < share < 1 and clusters > 1:
        residuals = values - share
        spread = float((np.bincount(groups, residuals) ** 2).sum()) * clusters / (clusters - 1)
        effect = max(1.0, spread / (float((residuals**2).sum()) * n / (n - 1)))
        t_of_rows, t_of_groups = scipy.special.stdtrit([n - 1, clusters - 1], (1 + LEVEL) / 2).tolist()
        few = t_of_rows / t_of_groups
        effective = n / effect * few**2
    n_and_groups = np.array([effective, clusters, clusters], dtype=np.float64)
    low, high = wilson(n_and_groups * [share, 1, 0], n_and_groups)
    return float(min(low[:2])), float(max(high[::2]))


def percentiles(draws: Floats, shares: tuple[float, float] = SHARES) -> tuple[float, float]:
    """The 2.5 and 97.5 percentiles, or others, of draws [r]; NaN if one is NaN."""
    low, high = _percentiles(np.sort(draws), shares)
    return low, high


def _percentiles(ascending: Floats, shares: Sequence[float]) -> list[float]:
    """np.percentile of sorted numbers, to the last bit, in a tenth of its time for a thousand of them."""
    last = len(ascending) - 1
    if np.isnan(ascending[last]):
        return [math.nan] * len(shares)
    values = []
    for share in shares:
        index = last * (share / 100)
        before = min(int(index), last)
        low, high = float(ascending[before]), float(ascending[min(before + 1, last)])
        part = index - before
        values.append(low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part))
    return values


def resampled(sums: "Array | scipy.sparse.csr_array", seed: int) -> Array:
    """[RESAMPLES, s] totals of the group sums [G, s] when G groups are drawn with replacement."""
    return np.concatenate([*resampled_parts(sums, seed)])


def resampled_parts(sums: "Array | scipy.sparse.csr_array", seed: int) -> Iterator[Array]:
    """The rows of `resampled`, some at a time.

    Sparse arithmetic without BLAS: one order of summation, whatever the number of threads.
    """
    sums = scipy.sparse.csr_array(sums)
    total = sums.shape[0]
    drawn = _kept_times(total, seed) if RESAMPLES * total <= KEPT else _times(total, seed)
    yield from (times.astype(float) @ sums for times in drawn)


@lru_cache(maxsize=32)
def _kept_times(total: int, seed: int) -> tuple[Ints, ...]:
    """`_times`, for the many tables with the same number of groups: models, variations and categories."""
    return tuple(times.astype(np.uint16) for times in _times(total, seed))


def _times(total: int, seed: int) -> Iterator[Ints]:
    source = np.random.SFC64(seed)

    def draw(resamples: int) -> Ints:
        raw = source.random_raw(resamples * total).reshape(resamples, total) >> np.uint64(32)
        return np.asarray((raw * np.uint64(total) >> np.uint64(32)).astype(np.int64))

    return _times_drawn(draw, RESAMPLES, total)


def bootstrap(sums: Array, counts: Array, seed: int, resamples: int) -> Array:
    """[resamples, columns] mean gaps of group sums and numbers of gaps [G, columns] when G groups are drawn.

    sums: whole numbers, which BLAS adds up exactly in any order. The random numbers come from numpy's
    legacy generator, on which stored comparisons rest.
    """
    generator, total = np.random.RandomState(seed), len(sums)
    drawn = _times_drawn(lambda size: generator.randint(0, total, (size, total)), resamples, total)
    parts = (times.astype(float) for times in drawn)
    return np.concatenate([(times @ sums) / np.maximum(times @ counts, 1) for times in parts])


def _times_drawn(draw: Callable[[int], Ints], resamples: int, total: int) -> Iterator[Ints]:
    """How often each of `total` groups is drawn, some resamples at a time; draw(r): [r, total] groups."""
    at_once = max(AT_ONCE, DRAWN // total)
    for start in range(0, resamples, at_once):
        size = min(at_once, resamples - start)
        cells = draw(size) + np.arange(size)[:, None] * total
        yield np.bincount(cells.ravel(), minlength=size * total).reshape(size, total)


def group_sums(
    groups: Ints, tallies: Sequence[tuple[Ints | int, np.ndarray, int]]
) -> "scipy.sparse.csr_array":
    """[G, all widths] sums by group: for one tally after another, the sum of its values in each slot.

    groups [n]: numbers. tallies: slots [n] in 0 ... width - 1 or one slot for all, values [n], width.
    """
    widths = [width for *_, width in tallies]
    starts = np.cumsum([0, *widths])
    cells = [slots + np.full(len(groups), start) for (slots, *_), start in zip(tallies, starts, strict=False)]
    values = [np.asarray(each, dtype=np.float64) for _, each, _ in tallies]
    numbers = np.tile(np.unique(groups, return_inverse=True)[1], len(tallies))
    shape = (int(numbers.max()) + 1, int(starts[-1]))
    entries = np.concatenate(values), (numbers, np.concatenate(cells))
    return scipy.sparse.coo_array(entries, shape=shape).tocsr()


def centred(value: float, draws: Floats, level: float = LEVEL) -> Interval:
    """Interval of a number in 0 ... 1 from its bootstrap draws [RESAMPLES], NaN if undefined.

    Resampling adds noise to every bin, which moves calibration errors upwards; so the percentiles'
    distances from the median of the draws are added to the value. (None, None) if half are undefined, or all
    are the same (one group): then nothing is known about the spread.
    """
    known = np.sort(draws[~np.isnan(draws)])
    if len(known) < len(draws) / 2 or known[0] == known[-1]:
        return None, None
    low, high = _percentiles(known, (50 - 50 * level, 50 + 50 * level))
    middle = float(known[(len(known) - 1) // 2] + known[len(known) // 2]) / 2
    return max(0.0, value + (low - middle)), min(1.0, value + (high - middle))


def about(value: float, draws: Floats) -> Interval:
    """Interval of a difference from its draws, as `centred` but without bounds; none if all are equal."""
    known = draws[~np.isnan(draws)]
    if len(known) < len(draws) / 2 or known.min() == known.max():
        return None, None
    low, high = percentiles(known - np.median(known))
    return value + low, value + high
