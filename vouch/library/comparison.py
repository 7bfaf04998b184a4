"""Comparing models and prompts: differences, power, regressions, robustness, judges."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vouch.library import check
from vouch.library.check import MOST_DRAWS, Floats, Ints
from vouch.library.estimates import Estimate, Result, mean_of
from vouch.metrics.comparison import statistics
from vouch.metrics.comparison.statistics import (
    finds,
    holm,
    intervals,
    minimum_detectable_effect,
    p_values,
    questions_for,
    sign_flip_p,
)
from vouch.metrics.intervals import mean_interval, some
from vouch.metrics.robustness import calibrated, reliability

LEAST_SHARE, MOST = 1e-6, 1e9
"""Bounds on the arguments of `power`, so that no number overflows."""


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """difference: accuracy of a minus accuracy of b. p: two-sided, None with fewer than two groups.

    minimum_detectable_effect: the smallest true difference that four of five such studies would detect;
    None if they are too small for any.
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
    questions that are not independent. Interval: 2.5 and 97.5 percentiles of a bootstrap over groups; if few
    of them differ, or none, with exact bounds as well (Clopper and Pearson 1934). p: t-test with the sandwich
    variance over groups, never below what flipping the signs of the groups could give. If you make several
    comparisons, correct the p-values yourself (Holm 1979).

    Raises ValueError that names the argument, and the row if one is at fault.

    >>> compare([1, 1, 1, 0, 1, 1, 0, 1], [1, 0, 1, 0, 0, 1, 0, 0]).difference.value
    0.375
    """
    first = check.shares(correct_a, "correct_a")
    second = check.shares(correct_b, "correct_b", len(first), "correct_a")
    numbers, draws = check.groups(groups, len(first)), check.whole(resamples, "resamples", MOST_DRAWS)
    start = check.seed(seed)
    gap, p = paired(first - second, numbers, draws, start)
    return Comparison(
        len(first),
        float(first.mean()),
        float(second.mean()),
        gap,
        p,
        minimum_detectable_effect(gap.low, gap.high),
    )


def paired(gaps: Floats, numbers: Ints, resamples: int, seed: int) -> tuple[Estimate, float | None]:
    """The mean of gaps [n], each in -1 ... 1, of groups [n], with its interval, and p (None: one group)."""
    gaps = np.round(gaps, 12)  # so that .3 - .1 equals .2
    sums = np.bincount(numbers, gaps)[:, None].astype(np.float64)
    counts = np.bincount(numbers).astype(np.float64)[:, None]
    mean = gaps.mean(keepdims=True)
    low, high = (some(end[0]) for end in intervals(sums, counts, seed, resamples, -1, 1))
    p = float(p_values(mean, sums, counts)[0]) if len(sums) > 1 else None
    return Estimate(float(mean[0]), low, high), p


@dataclass(frozen=True, repr=False)
class Power(Result):
    """finds: the smallest true difference that four of five studies detect; None if it exceeds `discordant`,
    the largest possible one. needed: the number of questions that detect `wanted`.
    """

    finds: float | None
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
    """The differences that a paired comparison of this many questions would detect (Connor 1987).

    Differences are of accuracies, 0 ... 1, and detected with a probability of 80 %. wanted: the difference
    for which `needed` gives the number of questions. discordant: share of the questions on which exactly one
    of the two is correct. design: variance divided by that of independent questions, 1 + (questions of a
    group - 1) x their correlation (Kish 1965). significance: of the two-sided test. claims: the number of
    comparisons in Holm's correction.

    Raises ValueError that names the argument.

    >>> found = power(1000)
    >>> found
    Power(finds=0.03962, wanted=0.05, needed=628)
    """
    discordant, wanted = check.share(discordant, "discordant"), check.within(wanted, "wanted", LEAST_SHARE, 1)
    significance = check.within(check.share(significance, "significance"), "significance", LEAST_SHARE, 1)
    design = check.within(design, "design", 1, MOST)
    questions, claims = check.whole(questions, "questions", MOST), check.whole(claims, "claims", MOST)
    if wanted > discordant * (1 + 1e-12):
        raise ValueError(
            f"wanted is {wanted}, above discordant, {discordant}: no difference is larger; lower it"
        )
    effect = finds(questions, (discordant * design) ** 0.5, significance, claims)
    return Power(effect if effect <= discordant else None, wanted, questions_for(wanted, questions, effect))


@dataclass(frozen=True, repr=False)
class Regressions(Result):
    """alarms: names that got worse. p: one-sided, corrected (Holm 1979). drop: lost accuracy. Both by name.

    level: an alarm needs a p of at most this.
    """

    alarms: tuple[str, ...]
    p: Mapping[str, float]
    drop: Mapping[str, float]
    level: float

    def __repr__(self) -> str:
        p = ", ".join(f"{name}: {each:.4g}" for name, each in self.p.items())
        return f"Regressions(alarms=[{', '.join(self.alarms)}], p=[{p}], level={self.level:.4g})"


def regressions(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    groups: ArrayLike | None = None,
    false_alarms: float = 0.01,
    look: int = 1,
    allowed: float = 0.0,
) -> Regressions:
    """Which models got worse from one version to the next, with a bound on false alarms.

    before, after: by name [n] 1 or 0, or a share, of which less than 1 counts as wrong; the same questions in
    the same order. groups: [n] questions that are not independent. If the versions of a model are alike, the
    probability of an alarm is at most false_alarms, however many names there are. That holds over repeated
    comparisons if `look` counts them from 1: the k-th spends 6 / (pi k)^2 of the bound. p is exact, from
    flipping the signs of the groups. allowed: losses up to this raise no alarm.

    Raises ValueError that names the argument, and the row if one is at fault.

    >>> worse = [1] * 80 + [0] * 20
    >>> regressions({"a": [1] * 100, "b": worse}, {"a": worse, "b": worse}).alarms
    ('a',)
    """
    before, after = (
        check.mapping(given, side, "{'a': [1, 0]}") for side, given in (("before", before), ("after", after))
    )
    if before.keys() != after.keys() or not before:
        raise ValueError("before and after need the same names, at least one")
    look = check.whole(look, "look", MOST)
    allowed = check.within(allowed, "allowed", 0, 1 - 1e-12)
    p, drop = [], {}
    for name in before:
        first = check.shares(before[name], f"before[{name!r}]") >= 1
        second = check.shares(after[name], f"after[{name!r}]", len(first), "before") >= 1
        sums = np.bincount(check.groups(groups, len(first)), second.astype(int) - first.astype(int))
        p.append(sign_flip_p(sums.astype(np.int64)))
        drop[name] = float(first.mean() - second.mean())
    level = check.share(false_alarms, "false_alarms") * 6 / (np.pi * look) ** 2
    corrected = {name: float(each or 0) for name, each in zip(before, holm(list(p)), strict=True)}
    alarms = tuple(name for name, each in corrected.items() if each <= level and drop[name] > allowed + 1e-12)
    return Regressions(alarms, corrected, drop, level)


MOST_OPTIONS = 1_000_000


@dataclass(frozen=True, repr=False)
class Robustness(Result):
    """accuracy, accuracy_varied: under the original and the changed prompts. consistency: share of changed
    prompts with the original answer or, if it should flip, another one. reliability: (2 accuracy^m - 1)
    certainty of the changed prompts; None without certainty.
    """

    rows: int
    accuracy: Estimate
    accuracy_varied: Estimate
    consistency: Estimate
    consistency_calibrated: float
    reliability: float | None


def robustness(
    original: Any,
    varied: Any,
    answers: Any,
    *,
    options: int | ArrayLike,
    flipped_answers: Any = None,
    certainty: Any = None,
    groups: ArrayLike | None = None,
) -> Robustness:
    """Accuracy, consistency and reliability under a change of the prompt.

    original, varied: [n] index of the option chosen for the original and for the changed prompt. answers: [n]
    the correct one. options: number per question. flipped_answers: [n] the correct ones for the changed
    prompt, if it changes them (a negation); the choice should then differ from the original one.
    certainty: [n] in 0 ... 1 of the changed prompts, such as 1 - (set size - 1) / (options - 1). groups:
    [n] questions that belong together. A guess among k options is consistent in 1/k of the cases or, if the
    answer flips, in 1 - 1/k.

    Raises ValueError that names the argument, and the row if one is at fault.

    >>> robustness([0, 1, 2, 3], [0, 1, 2, 0], [0, 1, 1, 3], options=4).consistency.value
    0.75
    """
    sizes = _sizes(options, len(check.plain(original, "original", 1)))
    first, second, right = (
        check.choices(values, name, sizes, "original")
        for values, name in ((original, "original"), (varied, "varied"), (answers, "answers"))
    )
    flips = flipped_answers is not None
    then = check.choices(flipped_answers, "flipped_answers", sizes, "original") if flips else right
    numbers = check.groups(groups, len(first))
    guess = 1 / sizes
    agrees = (first != second) if flips else (first == second)
    plainly, varied_right, same = (
        mean_of(each, numbers) for each in (first == right, second == then, agrees)
    )
    random = 1 - guess if flips else guess
    reliable = None
    if certainty is not None:
        sure = check.shares(certainty, "certainty", len(first), "original").mean(keepdims=True)
        reliable = float(reliability(np.array([varied_right.value]), guess.mean(keepdims=True), sure)[0])
    consistency = float(calibrated(np.array([same.value]), random.mean(keepdims=True))[0])
    return Robustness(len(first), plainly, varied_right, same, consistency, reliable)


def _sizes(options: int | ArrayLike, rows: int) -> Floats:
    if isinstance(options, Real):
        return np.full(rows, float(check.whole(options, "options", MOST_OPTIONS, low=2)))
    counts = check.numeric(options, "options", 1, remedy="give whole numbers").astype(np.float64)
    check.same_rows(counts, "options", rows, "original")
    wrong = ~((counts >= 2) & (counts <= MOST_OPTIONS) & (counts == np.floor(counts)))
    check.refuse(wrong, "options", lambda row: f"is {counts[row]:g}; give a whole number, at least 2")
    return counts


@dataclass(frozen=True, repr=False)
class PredictionPowered(Result):
    """accuracy: as if people had decided on all rows. people: from the sample only. judge: the mean of
    the verdicts. weight: that of the judge; 0 ignores it. kappa, sensitivity, specificity: those of
    the judge on the sample, at one half; None if undefined. decided: the number of rows in the sample.
    """

    decided: int
    accuracy: Estimate
    people: Estimate
    judge: Estimate
    weight: float
    kappa: Estimate | None
    sensitivity: Estimate | None
    specificity: Estimate | None


def prediction_powered(decided: Any, judged: Any, *, groups: ArrayLike | None = None) -> PredictionPowered:
    """Accuracy from a judge's verdicts on all answers, corrected by people's decisions on a random sample.

    decided: [n] 1 or 0 by people, NaN if they were not asked. judged: [n] 1 or 0, or a probability, by the
    judge. groups: [n] rows that are not independent. Prediction-powered inference (Angelopoulos et al. 2023)
    with the weight of PPI++: if the sample is random, the interval is valid for any bias of the judge.

    Raises ValueError that names the argument, and the row if one is at fault.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random(2000) < 0.6
    >>> judged = np.where(rng.random(2000) < 0.9, right, True)  # lenient: it calls a tenth right unread
    >>> decided = np.where(np.arange(2000) < 200, right, np.nan)
    >>> found = prediction_powered(decided, judged)
    >>> round(found.judge.value, 2), round(found.accuracy.value, 2), found.weight > 0.5
    (0.64, 0.59, True)
    """
    verdicts = check.shares(judged, "judged")
    given = check.numeric(decided, "decided", 1, remedy="give 1, 0 or NaN", missing=True).astype(np.float64)
    known = ~np.isnan(given)
    if len(given) != len(verdicts) or not known.any():
        raise ValueError(f"decided: give {len(verdicts)} numbers, as many as in judged, and some not NaN")
    check.shares(np.where(known, given, 0), "decided")
    numbers = check.groups(groups, len(given))
    value, low, high, weight = statistics.prediction_powered(given, verdicts, numbers)
    agreed = statistics.agreement(given[known] >= 0.5, verdicts[known] >= 0.5, numbers[known])
    return PredictionPowered(
        int(known.sum()),
        Estimate(value, low, high),
        Estimate(float(given[known].mean()), *mean_interval(given[known], numbers[known])),
        Estimate(float(verdicts.mean()), *mean_interval(verdicts, numbers)),
        weight,
        None if agreed.kappa is None else Estimate(agreed.kappa, *agreed.kappa_interval),
        agreed.sensitivity and Estimate(*agreed.sensitivity),
        agreed.specificity and Estimate(*agreed.specificity),
    )
