"""What a judge is worth: its agreement with people, and accuracies that people's decisions correct.

Angelopoulos et al. 2023 (prediction-powered inference, arXiv 2301.09633), with the weight of PPI++
(Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from vouch.metrics.intervals import LEVEL, Interval, mean_interval, share_interval
from vouch.metrics.responses import Bools, Floats, Ints


class Powered(NamedTuple):
    """value with its interval. weight: how much the judge counts; with 0 people alone do."""

    value: float
    low: float | None
    high: float | None
    weight: float


def prediction_powered(decided: Floats, judged: Floats, groups: Ints) -> Powered:
    """The mean of what people would decide on all n rows, from a random sample that they decided.

    decided [n]: 0 ... 1 by people, NaN where they were not asked; at least one is known. judged [n]: 0 ... 1
    by the judge. groups [n]: rows that are not independent.

    weight * mean(judged, others) + mean(decided - weight * judged, sample), so that a bias of the judge
    cancels. Variance by the sandwich formula over groups, quantile of Student's t with the sample's groups
    less 1. The weight is that of the least variance; for rows that are independent it is PPI++'s
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
    weight = -float((by_people * by_judge).sum()) / squares if squares else 0.0
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
    ones that it calls wrong, with `share_interval`. Kappa's interval is the jackknife over groups; None with
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
    """Of counts [..., 4]: both, people alone, judge alone, neither. NaN where both always say the same."""
    n = cells.sum(axis=-1)
    both, people, judge, neither = np.moveaxis(cells, -1, 0)
    chance = (both + people) * (both + judge) + (neither + judge) * (neither + people)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(((both + neither) * n - chance) / (n * n - chance))
