"""Statistics of paired comparisons: bootstrap intervals, exact tests, power, and a judge against people.

The functions on differences take sums over groups in whole numbers: these add up exactly, so that neither the
order of summation nor the number of threads can change a bit.

`prediction_powered` corrects a judge's verdicts by people's decisions on a sample (Angelopoulos et al. 2023,
arXiv 2301.09633, with the weight of PPI++, Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453); `agreement`
says how often a judge agrees with people.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from vouch.metrics.intervals import LEVEL, SHARES, Interval, bootstrap, mean_interval, share_interval
from vouch.metrics.metric import SHARE, declare
from vouch.metrics.responses import Array, Bools, Floats, Ints

POWER = 0.8
INTERVAL = 2 * 1.959964
"""The width of a 95 % interval, in standard errors."""
FEW = 6
"""The fewest groups whose signs, all alike, have a two-sided p below .05: 2^(1-6)."""
UNITS = 2520
"""Units in one correct answer; its share in a tie of up to ten letters is a whole number of them."""
GRAIN = UNITS * 2**13
"""How many units make 1. Rounding to units leaves shares of ties exact, and moves other values by <= 3e-8."""


def means(sums: Array, counts: Array) -> Array:
    """[columns] mean gap, from the sums and numbers of gaps [groups, columns]; 0 if there is none."""
    return np.asarray(sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1))


def intervals(
    sums: Array,
    counts: Array,
    seed: int,
    resamples: int,
    least: ArrayLike = -math.inf,
    most: ArrayLike = math.inf,
) -> tuple[Array, Array]:
    """[columns] 2.5 and 97.5 percentiles of the mean gap over resamples of whole groups, and, if fewer than
    FEW groups have another gap than the rest (too few to resample), exact bounds as well.

    least, most [columns]: bounds of a gap. If all G groups agree, another one differs with a probability of
    up to 1 - .025^(1/G) (Clopper and Pearson 1934). The signs of fewer than FEW gaps may be chance, so the
    interval then holds 0 if gaps may have both signs. NaN if fewer than two groups have a gap, or
    if all agree and `least` and `most` are infinite.
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


def p_values(mean: Array, sums: Array, counts: Array) -> Array:
    """Two-sided p, from the group sums [groups, pairs].

    At least 2^(1-D) for D groups whose models differ, the least that flipping their signs can give: the t
    distribution gives too small a p for few groups.
    """
    clusters = (counts > 0).sum(axis=0)
    freedom = np.maximum(clusters - 1, 1)
    spread = ((sums - mean * counts) ** 2).sum(axis=0)
    error = np.sqrt(clusters / freedom * spread) / np.maximum(counts.sum(axis=0), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, np.abs(mean) / error)
    least = np.exp2(1.0 - np.maximum((sums != 0).sum(axis=0), 1))
    return np.asarray(np.maximum(2 * scipy.special.stdtr(freedom, -t), least))


def holm(p_values: list[float | None]) -> list[float | None]:
    """Holm's step-down correction; None stays None and does not count."""
    tested = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for done, (p, index) in enumerate(tested):
        largest = max(largest, min(1.0, p * (len(tested) - done)))
        corrected[index] = largest
    return corrected


def sign_flip_p(sums: NDArray[np.int64]) -> float:
    """P(a sum this small or smaller) if each group's sum [groups] has either sign with probability 1/2.

    Exact, by convolution. If each group is one question, this is McNemar's test: a binomial tail.
    """
    law = np.ones(1)  # distribution of the sum, symmetric about 0
    for size, count in zip(*np.unique(np.abs(sums[sums != 0]), return_counts=True), strict=True):
        heads = _fair_coins(int(count))
        further = np.zeros(len(law) + 2 * size * (len(heads) - 1))
        for shift, p in enumerate(heads):
            further[2 * size * shift :][: len(law)] += p * law
        law = further
    return min(1.0, float(law[: max(0, len(law) // 2 + int(sums.sum()) + 1)].sum()))


def _fair_coins(count: int) -> Array:
    """The distribution of heads among `count` coins, without the probabilities below 1e-300 at either end."""
    reach = min(count // 2, int(20 * math.sqrt(count)) + 1)
    heads = count // 2 - np.arange(reach)
    low = np.cumprod(np.append(1.0, heads / (count - heads + 1)))[::-1]
    law = np.concatenate([low, low[::-1][1 - count % 2 :]])
    return np.asarray(law / law.sum())


def detectable(error: float, significance: float = 0.05, claims: int = 1) -> float:
    """The smallest true difference that four of five studies find, given its standard error.

    claims: how many tests are corrected together, as Holm's correction treats the smallest p (normal,
    two-sided).
    """
    reach, power = scipy.special.ndtri([1 - significance / 2 / max(claims, 1), POWER]).tolist()
    return float(reach + power) * error


def deviation(low: float, high: float, items: int) -> float:
    """Standard deviation of a paired difference on an item, including its group's share, from its interval.

    Before a run: the root of d times the design effect 1 + (m - 1) r, d being the share of items on which
    just one of the two is correct, m the items of a group and r their correlation (Connor 1987; Kish 1965).
    """
    return (high - low) / INTERVAL * math.sqrt(items)


def finds(items: int, spread: float, significance: float = 0.05, claims: int = 1) -> float:
    """The difference that this many items detect, from their `deviation`."""
    return detectable(spread / math.sqrt(items), significance, claims)


def questions_for(wanted: float, items: int, effect: float) -> int:
    """The fewest items, at least one, that detect a wanted difference, given that `items` detect `effect`."""
    return max(1, math.ceil(items * (effect / wanted) ** 2 * (1 - 1e-12)))


def minimum_detectable_effect(
    low: float | None, high: float | None, significance: float = 0.05, claims: int = 1
) -> float | None:
    """`detectable`, from the ends of a paired comparison's interval; None if it exceeds 1, the largest
    difference of two accuracies.

    Without groups its standard error is the root of (d - difference^2) / n, d being the share of items on
    which just one of the two is correct.
    """
    if low is None or high is None:
        return None
    effect = detectable((high - low) / INTERVAL, significance, claims)
    return effect if effect <= 1 else None


declare(
    "accuracy_ppi",
    "Accuracy, corrected judge",
    "what people would say of all open answers: the judge's verdicts, corrected by people's decisions on "
    "a sample",
    better="higher",
    unit=SHARE,
    source="Angelopoulos et al. 2023; Angelopoulos, Duchi and Zrnic 2023",
)
declare(
    "judge_weight",
    "Judge's weight",
    "how much the judge counts in the corrected accuracy; 0: people alone do",
    unit=SHARE,
    source="Angelopoulos, Duchi and Zrnic 2023",
)
declare(
    "accuracy_judge",
    "Correct by the judge",
    "share of the open answers that the judge calls correct",
    better="higher",
    unit=SHARE,
)
declare(
    "accuracy_people",
    "Correct by people",
    "share of the open answers that people call correct, on the sample they decided",
    better="higher",
    unit=SHARE,
)
declare(
    "annotated_rate",
    "Decided",
    "share of the different judged answers drawn for people on which their decisions count",
    unit=SHARE,
)
declare(
    "judge_unread_rate",
    "Unread verdicts",
    "share of the open answers on which the judge's reply says neither correct nor incorrect; they count "
    "as incorrect",
    better="lower",
    unit=SHARE,
)


class Powered(NamedTuple):
    """value with its interval. weight: how much the judge counts; with 0, only people count."""

    value: float
    low: float | None
    high: float | None
    weight: float


def prediction_powered(decided: Floats, judged: Floats, groups: Ints) -> Powered:
    """The mean of people's decisions, if they decided on all n rows, estimated from a random sample.

    decided [n]: 0 ... 1 by people, NaN if they were not asked; at least one is known. judged [n]: 0 ... 1
    by the judge. groups [n]: rows that are not independent.

    weight * mean(judged, others) + mean(decided - weight * judged, sample), so that a bias of the judge
    cancels. Variance by the sandwich formula over groups, quantile of Student's t with the sample's groups
    less 1 as its degrees of freedom. The weight gives the least variance; for independent rows it is PPI++'s
    Cov(decided, judged) / (Var(judged) (1 + sample / others)). One more disagreement of each sort goes into
    weight and variance, not into the value (as in Bonett and Price 2012 for paired shares): otherwise a small
    sample without any would seem to prove that there are none. With weight 0: `mean_interval` of the sample.
    """
    sample = ~np.isnan(decided)
    people, same, others = decided[sample], judged[sample], judged[~sample]
    plain = float(people.mean()), *mean_interval(people, np.unique(groups[sample], return_inverse=True)[1])
    clusters = len(np.unique(groups[sample]))
    if not len(others) or clusters < 2:
        return Powered(*plain, 0.0)
    # Two rows more, each a group of its own.
    own = np.concatenate([people, [1.0, 0.0]]), np.concatenate([same, [0.0, 1.0]])
    last = int(groups.max())
    of_sample, size = np.concatenate([groups[sample], [last + 1, last + 2]]), last + 3

    def summed(values: Floats, of: Ints) -> Floats:
        return np.asarray(np.bincount(of, values - values.mean(), size) / len(values))

    by_people = summed(own[0], of_sample)
    by_judge = summed(others, groups[~sample]) - summed(own[1], of_sample)
    squares = float((by_judge**2).sum())
    weight = -float((by_people * by_judge).sum()) / squares if squares else 0.0
    if weight <= 0:
        return Powered(*plain, 0.0)
    value = weight * float(others.mean()) + float((people - weight * same).mean())
    count = len(np.unique(groups)) + 2
    variance = count / (count - 1) * float(((by_people + weight * by_judge) ** 2).sum())
    reach = float(scipy.special.stdtrit(clusters - 1, (1 + LEVEL) / 2)) * math.sqrt(variance)
    value = min(1.0, max(0.0, value))
    return Powered(value, max(0.0, value - reach), min(1.0, value + reach), weight)


declare(
    "judge_kappa",
    "Judge's kappa",
    "agreement of the judge with people beyond chance, 1 is perfect",
    better="higher",
    source="Cohen 1960",
)
declare(
    "judge_sensitivity",
    "Judge's sensitivity",
    "share of people's correct answers that the judge calls correct",
    better="higher",
    unit=SHARE,
)
declare(
    "judge_specificity",
    "Judge's specificity",
    "share of people's wrong answers that the judge calls wrong",
    better="higher",
    unit=SHARE,
)


class Agreement(NamedTuple):
    """Cohen's kappa with its interval; sensitivity and specificity as (value, low, high), None if people
    called no answer correct, or none wrong. rows: answers that both decided."""

    rows: int
    kappa: float | None
    kappa_interval: Interval
    sensitivity: tuple[float, float, float] | None
    specificity: tuple[float, float, float] | None


def agreement(decided: Bools, judged: Bools, groups: Ints) -> Agreement:
    """How often a judge agrees with people's decisions on n answers.

    Sensitivity: share of people's correct answers that the judge calls correct. Specificity: share of their
    wrong ones that it calls wrong, with `share_interval`. Kappa's interval is the jackknife over groups; None
    with fewer than two groups, or if kappa is undefined, or stays the same whichever group is left out.
    """
    cells = np.stack(
        [decided & judged, decided & ~judged, ~decided & judged, ~decided & ~judged], axis=1
    ).astype(np.float64)
    numbers = np.unique(groups, return_inverse=True)[1]
    by_group = np.stack([np.bincount(numbers, cell) for cell in cells.T], axis=1)
    total = by_group.sum(axis=0)
    kappa, count = float(_kappa(total)), len(by_group)
    ends: Interval = (None, None)
    if count > 1:
        left = _kappa(total - by_group)
        variance = (count - 1) / count * float(((left - left.mean()) ** 2).sum())
        if variance > 0:
            reach = float(scipy.special.stdtrit(count - 1, (1 + LEVEL) / 2)) * math.sqrt(variance)
            ends = max(-1.0, kappa - reach), min(1.0, kappa + reach)
    return Agreement(
        len(decided),
        None if math.isnan(kappa) else kappa,
        ends,
        _share(judged[decided], numbers[decided]),
        _share(~judged[~decided], numbers[~decided]),
    )


def _share(agrees: Bools, groups: Ints) -> tuple[float, float, float] | None:
    return (float(agrees.mean()), *share_interval(agrees, groups)) if len(agrees) else None


def _kappa(cells: Floats) -> Floats:
    """Kappa of counts [..., 4]: both, only people, only judge, neither. NaN if both always say the same."""
    n = cells.sum(axis=-1)
    both, people, judge, neither = np.moveaxis(cells, -1, 0)
    chance = (both + people) * (both + judge) + (neither + judge) * (neither + people)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(((both + neither) * n - chance) / (n * n - chance))
