"""Which of two models is better on the same questions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vouch.library.arrays import groups_of, share, shares_of
from vouch.library.figure import Estimate, Result
from vouch.metrics.comparison.resampling import (
    finds,
    intervals,
    minimum_detectable_effect,
    p_values,
    questions_for,
)


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """difference: accuracy of a minus that of b. p: two-sided, None with fewer than two groups.

    minimum_detectable_effect: the smallest true difference that four of five studies of this size would find.
    """

    rows: int
    accuracy_a: float
    accuracy_b: float
    difference: Estimate
    p: float | None
    minimum_detectable_effect: float | None


def compare(
    correct_a: Any, correct_b: Any, *, groups: ArrayLike | None = None, resamples: int = 1000, seed: int = 0
) -> Comparison:
    """Paired difference of two models' accuracies.

    correct_a, correct_b: [n] 1 or 0, or a share, on the same questions in the same order. groups: [n]
    questions that are not independent. Interval: 2.5 and 97.5 percentiles of a bootstrap over groups. p:
    t-test with the sandwich variance over groups, never below what flipping the signs of the groups could
    give. Of several comparisons correct the p-values yourself (Holm 1979).

    >>> compare([1, 1, 1, 0, 1, 1, 0, 1], [1, 0, 1, 0, 0, 1, 0, 0]).difference.value
    0.375
    """
    first = shares_of(correct_a, "correct_a")
    second = shares_of(correct_b, "correct_b", len(first))
    numbers = groups_of(groups, len(first))
    sums = np.bincount(numbers, first - second)[:, None].astype(np.float64)
    counts = np.bincount(numbers).astype(np.float64)[:, None]
    mean = (first - second).mean(keepdims=True)
    low, high = (
        None if np.isnan(end[0]) else float(end[0]) for end in intervals(sums, counts, seed, resamples)
    )
    p = float(p_values(mean, sums, counts)[0]) if len(sums) > 1 else None
    return Comparison(
        len(first),
        float(first.mean()),
        float(second.mean()),
        Estimate(float(mean[0]), low, high),
        p,
        minimum_detectable_effect(low, high),
    )


@dataclass(frozen=True, repr=False)
class Power(Result):
    """finds: the smallest true difference that four of five studies name. needed: questions for `wanted`."""

    finds: float
    wanted: float
    needed: int


def power(
    questions: int,
    *,
    wanted: float = 0.05,
    discordant: float = 0.2,
    design: float = 1.0,
    significance: float = 0.05,
    claims: int = 1,
) -> Power:
    """What a paired comparison of so many questions finds, before it is made (Connor 1987).

    discordant: share of the questions on which just one of the two is right. design: variance over that of
    independent questions, 1 + (questions of a group - 1) x their correlation (Kish 1965). claims: comparisons
    that Holm's correction counts.

    >>> found = power(1000)
    >>> round(found.finds, 3), found.needed
    (0.04, 628)
    """
    share(discordant, "discordant"), share(wanted, "wanted"), share(significance, "significance")
    if questions < 1 or design < 1:
        raise ValueError(f"questions is {questions}, design {design}; both must be at least 1")
    effect = finds(questions, (discordant * design) ** 0.5, significance, claims)
    return Power(effect, wanted, questions_for(wanted, questions, effect))
