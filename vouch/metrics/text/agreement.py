"""What a judge is worth: its agreement with people, and accuracies that people's decisions correct.

Angelopoulos et al. 2023 (prediction-powered inference, arXiv 2301.09633), with the weight of PPI++
(Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from vouch.metrics.intervals import LEVEL, Interval, mean_interval
from vouch.metrics.responses import Bools, Floats, Ints


class Powered(NamedTuple):
    """value with its interval. weight: 0 ... 1, how much the judge counts; with 0 people alone do."""

    value: float
    low: float | None
    high: float | None
    weight: float


def prediction_powered(decided: Floats, judged: Floats, groups: Ints, weight: float | None = None) -> Powered:
    """The mean of what people would decide on all n rows, from a random sample that they decided.

    decided [n]: 0 ... 1 by people, NaN where they were not asked; at least one is known. judged [n]: 0 ... 1
    by the judge. groups [n]: rows that are not independent.

    weight * mean(judged, others) + mean(decided - weight * judged, sample), so that a bias of the judge
    cancels. Variance by the sandwich formula over groups, quantile of Student's t with the sample's groups
    less 1. The weight is that of the least variance, at most 1; for rows that are independent it is PPI++'s
    Cov(decided, judged) / (Var(judged) (1 + sample / others)). One more disagreement of each sort goes into
    weight and variance, not into the value (as Bonett and Price 2012 have it for paired shares): else a small
    sample without one would count as proof that there is none. With weight 0: `mean_interval` of the sample.
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
    if weight is None:
        weight = min(1.0, -float((by_people * by_judge).sum()) / squares) if squares else 0.0
    if weight <= 0:
        return Powered(*plain, 0.0)
    value = weight * float(others.mean()) + float((people - weight * same).mean())
    count = len(np.unique(groups)) + 2
    variance = count / (count - 1) * float(((by_people + weight * by_judge) ** 2).sum())
    reach = float(stdtrit(clusters - 1, (1 + LEVEL) / 2)) * math.sqrt(variance)
    value = min(1.0, max(0.0, value))
    return Powered(value, max(0.0, value - reach), min(1.0, value + reach), weight)


class Agreement(NamedTuple):
    """Cohen's kappa with its interval; sensitivity and specificity as (value, low, high), None where people
    decided nothing of that sort. rows: answers that both decided."""

    rows: int
    kappa: float | None
    kappa_interval: Interval
    sensitivity: tuple[float, float, float] | None
    specificity: tuple[float, float, float] | None


def agreement(decided: Bools, judged: Bools, groups: Ints) -> Agreement:
    """How often a judge says of n answers what people decided.

    Sensitivity is the share of people's right answers that the judge calls right, specificity of the wrong
    ones that it calls wrong; intervals of Wilson. Kappa's interval is the jackknife over groups; None with
    fewer than two groups, or where kappa is undefined or the same without any of them.
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
            reach = float(stdtrit(count - 1, (1 + LEVEL) / 2)) * math.sqrt(variance)
            ends = max(-1.0, kappa - reach), min(1.0, kappa + reach)
    both, missed, wrongly, neither = total.tolist()
    return Agreement(
        len(decided),
        None if math.isnan(kappa) else kappa,
        ends,
        wilson(both, both + missed),
        wilson(neither, neither + wrongly),
    )


def _kappa(cells: Floats) -> Floats:
    """Of counts [..., 4]: both, people alone, judge alone, neither. NaN where both always say the same."""
    n = cells.sum(axis=-1)
    both, people, judge, neither = np.moveaxis(cells, -1, 0)
    chance = (both + people) * (both + judge) + (neither + judge) * (neither + people)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(((both + neither) * n - chance) / (n * n - chance))


def wilson(hits: float, n: float) -> tuple[float, float, float] | None:
    """A share with its interval (Wilson 1927); None where n is 0."""
    if not n:
        return None
    z = float(ndtri((1 + LEVEL) / 2))
    centre, spread = hits + z * z / 2, z * math.sqrt(hits * (n - hits) / n + z * z / 4)
    return hits / n, (centre - spread) / (n + z * z), (centre + spread) / (n + z * z)
