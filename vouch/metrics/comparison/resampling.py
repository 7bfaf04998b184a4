"""Means of paired differences, and their intervals by a bootstrap over whole groups.

Both take sums over groups, of whole numbers: these add up exactly, so no order of summation and no number of
threads can move a bit.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtr

from vouch.metrics.intervals import AT_ONCE, SHARES
from vouch.metrics.responses import Array

POWER = 0.8
INTERVAL = 2 * 1.959964
"""Standard errors in the width of a 95 % interval."""
FEW = 6
"""The fewest groups whose signs, all alike, have a two-sided p below .05: 2^(1-6)."""


def means(sums: Array, counts: Array) -> Array:
    """[columns] mean gap, from the sums and numbers of gaps [groups, columns]; 0 where there is none."""
    return np.asarray(sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1))


def intervals(
    sums: Array,
    counts: Array,
    seed: int,
    resamples: int,
    least: ArrayLike = -math.inf,
    most: ArrayLike = math.inf,
) -> tuple[Array, Array]:
    """[columns] 2.5 and 97.5 percentiles of the mean gap over resamples of whole groups, and where fewer than
    FEW groups have another gap than the rest, which is too few to resample, exact bounds as well.

    least, most [columns]: of one gap. Where all G groups agree, a further one differs with a probability of
    up to 1 - .025^(1/G) (Clopper and Pearson 1934); and the signs of fewer than FEW gaps may be chance, so
    that the interval holds 0 where gaps have either sign. NaN where fewer than two groups have a gap, and
    where all agree while `least` and `most` are infinite.
    """
    low, high = np.percentile(bootstrap(sums, counts, seed, resamples), SHARES, axis=0)
    groups, mean, ends = (counts > 0).sum(axis=0), means(sums, counts), (np.asarray(least), np.asarray(most))
    rounding = 1e-9 * np.abs(sums).max(axis=0)

    def others(gap: Array) -> Array:
        return np.asarray((np.abs(sums - gap * counts) > rounding).sum(axis=0))

    bounded = [np.where(np.isfinite(end), end, mean) for end in ends]
    alike, differ = others(mean) == 0, others(np.zeros_like(mean))
    few = alike | (np.minimum(differ, [others(end) for end in bounded]).min(axis=0) < FEW)
    sure = np.array([(SHARES[0] / 100) ** (1 / max(n, 1)) for n in groups.tolist()])  # not numpy's own power
    exact = [mean * sure + end * (1 - sure) for end in bounded]
    chance = (differ < FEW) & (ends[0] < 0)
    known = (groups > 1) & np.where(alike, bounded[0] < bounded[1], low < high)
    low = np.where(few, np.minimum(low, np.where(chance, np.minimum(exact[0], 0), exact[0])), low)
    high = np.where(few, np.maximum(high, np.where(chance, np.maximum(exact[1], 0), exact[1])), high)
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


def p_values(mean: Array, sums: Array, counts: Array) -> Array:
    """Two-sided, from the group sums [groups, pairs].

    Never below 2^(1-D) for D groups whose models differ, the least that flipping their signs can give: the t
    distribution is too sure of a few.
    """
    clusters = (counts > 0).sum(axis=0)
    freedom = np.maximum(clusters - 1, 1)
    spread = ((sums - mean * counts) ** 2).sum(axis=0)
    error = np.sqrt(clusters / freedom * spread) / np.maximum(counts.sum(axis=0), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, np.abs(mean) / error)
    least = np.exp2(1.0 - np.maximum((sums != 0).sum(axis=0), 1))
    return np.asarray(np.maximum(2 * stdtr(freedom, -t), least))


def holm(p_values: list[float | None]) -> list[float | None]:
    """Holm's step-down correction; None stays None and does not count."""
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for done, (p, place) in enumerate(tested):
        largest = max(largest, min(1.0, p * (len(tested) - done)))
        corrected[place] = largest
    return corrected


def sign_flip_p(sums: NDArray[np.int64]) -> float:
    """P(the sum is so small or smaller), each group's sum [groups] having either sign with probability 1/2.

    Exact, by convolution. Of single questions it is McNemar's test, the binomial tail of those that differ.
    """
    law = np.ones(1)  # of the sum, symmetric about 0
    for size, count in zip(*np.unique(np.abs(sums[sums != 0]), return_counts=True), strict=True):
        heads = _fair_coins(int(count))
        further = np.zeros(len(law) + 2 * size * (len(heads) - 1))
        for place, p in enumerate(heads):
            further[2 * size * place :][: len(law)] += p * law
        law = further
    return min(1.0, float(law[: max(0, len(law) // 2 + int(sums.sum()) + 1)].sum()))


def _fair_coins(count: int) -> Array:
    """The law of the heads among so many coins, without what is below 1e-300 at either end."""
    reach = min(count // 2, int(20 * math.sqrt(count)) + 1)
    heads = count // 2 - np.arange(reach)
    low = np.cumprod(np.append(1.0, heads / (count - heads + 1)))[::-1]
    law = np.concatenate([low, low[::-1][1 - count % 2 :]])
    return np.asarray(law / law.sum())


def detectable(error: float, significance: float = 0.05, claims: int = 1) -> float:
    """The smallest true difference that four of five studies find, by its standard error.

    claims: corrected for together, of which Holm's correction may leave this one the smallest p (normal,
    two-sided).
    """
    return float(ndtri(1 - significance / 2 / max(claims, 1)) + ndtri(POWER)) * error


def deviation(low: float, high: float, items: int) -> float:
    """Standard deviation of a paired difference on an item, its group's share included, by its interval.

    Before a run: the root of d times the design effect 1 + (m - 1) r, d being the share of items on which
    just one of the two is right, m the items of a group and r their correlation (Connor 1987; Kish 1965).
    """
    return (high - low) / INTERVAL * math.sqrt(items)


def finds(items: int, spread: float, significance: float = 0.05, claims: int = 1) -> float:
    """The difference that so many items find, by their `deviation`."""
    return detectable(spread / math.sqrt(items), significance, claims)


def questions_for(wanted: float, items: int, effect: float) -> int:
    """The fewest items, at least one, that find a wanted difference, where so many find `effect`."""
    return max(1, math.ceil(items * (effect / wanted) ** 2 * (1 - 1e-12)))


def minimum_detectable_effect(
    low: float | None, high: float | None, significance: float = 0.05, claims: int = 1
) -> float | None:
    """The same by the ends of the interval of a paired comparison; None where it exceeds 1, the largest
    difference of two accuracies.

    Without groups its standard error is the root of (d - difference^2) / n, d being the share of items on
    which just one of the two is right.
    """
    if low is None or high is None:
        return None
    effect = detectable((high - low) / INTERVAL, significance, claims)
    return effect if effect <= 1 else None
