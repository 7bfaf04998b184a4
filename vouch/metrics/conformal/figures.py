"""Metrics of prediction sets: coverage, size, UAcc and the like, for every score, stratum and alpha.

`OF_SETS` holds the formulas. `set_figures` applies them over many splits. `shift_figures` measures what is
left of the coverage guarantee under another prompt: the calibration half of the original prompts sets the
threshold, and the test half of the variation is tested, with the same groups in the same halves. A variation
breaks exchangeability if the interval of that coverage excludes 1 - alpha (Barber et al. 2023 bound how
far coverage can fall).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.conformal.scores import Settings, order_of, score_values
from vouch.metrics.conformal.sets import (
    STRATA,
    Scores,
    SetMembership,
    Splits,
    Strata,
    answer_scores,
    group_splits,
    set_membership,
    thresholds,
)
from vouch.metrics.intervals import SHARES, percentiles
from vouch.metrics.metric import (
    MARGINAL,
    OPTIONS,
    SHARE,
    Figure,
    Formulas,
    declare,
    metrics,
    named,
    split_figure,
)
from vouch.metrics.responses import Array, Bools, Floats, Ints, Ranked, Responses, rank
from vouch.tables import HEADLINE

if TYPE_CHECKING:
    from vouch.metrics.config import ScoreConfig
    from vouch.metrics.join import Block


SHARE_OF_SIZE = 0.05
"""Sizes that a smaller share of test rows has are left out of worst_size_coverage: a handful says nothing."""


@dataclass(frozen=True)
class SetCounts:
    """How many test rows have which prediction set.

    counted [..., s]  rows with each code: 4 size + 2 covered + empty (before the set was filled)
    correct [...]     mean share of the prediction that is correct, over the same rows
    options [...]     their mean number of options
    """

    counted: NDArray[np.int64]
    correct: Array
    options: Array

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """[s] size of a code's filled set."""
        return np.arange(self.counted.shape[-1]) >> 2

    @cached_property
    def covered(self) -> NDArray[np.int64]:
        """[s] whether the filled set holds an answer."""
        return np.arange(self.counted.shape[-1]) >> 1 & 1

    @cached_property
    def empty(self) -> NDArray[np.int64]:
        """[s] whether the set was empty before it was filled."""
        return np.arange(self.counted.shape[-1]) & 1

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """[...] how many test rows there are."""
        return np.asarray(self.counted.sum(axis=-1))

    def mean(self, values: NDArray[np.int64] | NDArray[np.bool_]) -> Array:
        """[...] mean over the rows of a quantity [s] of the codes."""
        return np.asarray(self.counted @ values / self.rows)


OF_SETS = Formulas[Callable[[SetCounts], Any]](of_sets=True, over_splits=True)
# Coverage above its target is no merit, but the benchmark's tables rank it so.
OF_SETS(
    "coverage",
    "Coverage",
    "share of sets that hold the answer",
    better="higher",
    unit=SHARE,
    ranked=True,
    authors="test",
)(lambda sets: sets.mean(sets.covered))
OF_SETS(
    "set_size",
    "Set size",
    "mean number of options in a set",
    better="lower",
    unit=OPTIONS,
    ranked=True,
    authors="test",
)(lambda sets: sets.mean(sets.size))
OF_SETS(
    "empty_rate", "Empty", "sets that were empty before the most probable option filled them", unit=SHARE
)(lambda sets: sets.mean(sets.empty))
OF_SETS("singleton_rate", "One option", "share of sets with a single option", better="higher", unit=SHARE)(
    lambda sets: sets.mean(sets.size == 1)
)


@OF_SETS(
    "uacc",
    "UAcc",
    "accuracy times the root of the number of options over set size, mean of both scores",
    better="higher",
    ranked=True,
    authors="test",
    source="Kostumov et al. 2024, equation 7",
    detail="its `mean` is that of the two scores' values",
)
def uacc(sets: SetCounts) -> Array:
    """[...] accuracy sqrt(K) / set size; exceeds 1 if sets are small.

    K is the mean number of options if prompts differ.
    """
    return np.asarray(sets.correct * np.sqrt(sets.options) / sets.mean(sets.size))


@OF_SETS(
    "unfilled_coverage",
    "Coverage, unfilled",
    "before empty sets are filled: what the guarantee speaks about",
    unit=SHARE,
)
def unfilled_coverage(sets: SetCounts) -> Array:
    """[...] share of the sets that contain an answer and were not empty before they were filled."""
    return sets.mean(sets.covered * (1 - sets.empty))


@OF_SETS("set_size_share", "Sets of a size", "share of the sets that have it", unit=SHARE)
def set_size_share(sets: SetCounts) -> dict[str, Array]:
    """Size, from 1 to the largest -> [...] share of the sets that have it."""
    return {str(size): sets.mean(sets.size == size) for size in range(1, int(sets.size.max()) + 1)}


@OF_SETS(
    "worst_size_coverage",
    "Worst size, coverage",
    f"lowest coverage among sets of one size that at least {100 * SHARE_OF_SIZE:g} % of the questions have",
    better="higher",
    unit=SHARE,
    source="Angelopoulos et al. 2021",
)
def worst_size_coverage(sets: SetCounts) -> Array:
    """[...] minimum over the sizes of the share of sets of that size that hold an answer."""
    worst = np.ones(sets.counted.shape[:-1])
    for size in range(1, int(sets.size.max()) + 1):
        share = sets.mean(sets.size == size)
        covered = sets.mean((sets.size == size) & (sets.covered == 1))
        enough = share >= SHARE_OF_SIZE
        worst = np.where(enough, np.minimum(worst, covered / np.where(enough, share, 1)), worst)
    return worst


declare(
    "coverage_calibrated_on",
    "Coverage",
    "by the share of the items that calibrates, in percent",
    unit=SHARE,
    of_sets=True,
)
declare(
    "set_size_calibrated_on",
    "Set size",
    "by the share of the items that calibrates, in percent",
    better="lower",
    unit=OPTIONS,
    of_sets=True,
)
declare("threshold", "Threshold", "nonconformity score up to which an option is in the set")
declare(
    "negative_threshold_rate",
    "Negative thresholds",
    "share of the splits in which the margin's threshold is below 0",
    unit=SHARE,
    detail="where accuracy is near 1 - alpha or above",
)
declare(
    "infinite_threshold_rate",
    "Infinite thresholds",
    "share of the splits and strata in which too few rows calibrate",
    better="lower",
    unit=SHARE,
)
SWEPT = ("coverage", "set_size")
"""Metrics that are given for every share of `score.shares`."""


def calibrated_on(metric: str, share: float) -> str:
    """The name of a metric of SWEPT for a calibration share: `coverage_calibrated_on_10` for 0.1."""
    return f"{metric}_calibrated_on_{100 * share:g}"


Drawn = tuple[str, str, str, float, Array]
"""score, metric, calibration, alpha, and one number of every split [splits]."""


@dataclass(frozen=True)
class ScoredRows:
    """The rows of a protocol, [n]. By name of the score: scores, its order (vouch.metrics.conformal.scores),
    and answers, the numbers of the correct answers in it. settings: the parameters of the scores."""

    ranked: Ranked
    categories: Ints
    correct: Floats | Bools
    scores: dict[str, Scores]
    answers: dict[str, Array]
    settings: Settings

    def strata(self, kind: str) -> Strata:
        """The strata of a kind of calibration."""
        return STRATA[kind](self.ranked, self.categories)


@dataclass(frozen=True)
class Calibrated:
    """Sets of one score: thresholds [splits, strata] in its order, the set membership of all rows, and their
    counts."""

    limits: Array
    membership: SetMembership
    counts: SetCounts


def rows_of(
    responses: Responses, correct: Floats | Bools, scores: Sequence[str], settings: Settings
) -> ScoredRows:
    """Rows from responses; correct [n]: share of each row's prediction that is correct; scores: names."""
    ranked = rank(responses)
    formulas: dict[str, Scores] = {name: order_of(name, settings) for name in scores}
    answers = answer_scores(ranked, formulas)
    return ScoredRows(ranked, responses.categories, correct, formulas, answers, settings)


class Calibrations:
    """Sets of the same rows under the same splits; common quantities are computed once."""

    def __init__(self, rows: ScoredRows, splits: Splits) -> None:
        self.rows, self.splits = rows, splits
        self.correct = splits.test_means(rows.correct)
        self.options = splits.test_means(rows.ranked.options)

    def of(self, strata: Strata, alpha: float) -> dict[str, Calibrated]:
        """The sets of every score."""
        limits = {
            score: thresholds(answers, strata.answers, strata.number, self.splits, alpha)
            for score, answers in self.rows.answers.items()
        }
        membership = set_membership(self.rows.ranked, self.rows.scores, limits, strata.rows)
        return {
            score: Calibrated(
                limits[score], each, SetCounts(each.counts(self.splits), self.correct, self.options)
            )
            for score, each in membership.items()
        }


def set_figures(
    rows: ScoredRows, groups: Ints, splits: Splits, config: "ScoreConfig"
) -> tuple[list[Figure], dict[str, SetMembership]]:
    """All figures of sets, and the set membership by score under the main calibration.

    A kind of calibration with a single stratum is left out: it equals the marginal one.
    """
    drawn: list[Drawn] = []
    calibrations = Calibrations(rows, splits)
    main = {}
    for kind in config.strata:
        strata = rows.strata(kind)
        if strata.number == 1 and kind != MARGINAL:
            continue
        for alpha in config.alphas:
            calibrated = calibrations.of(strata, alpha)
            values = _values(calibrated, kind, rows.settings)
            drawn += [(score, metric, kind, alpha, each) for score, metric, each in values]
            if kind == MARGINAL and alpha == config.main_alpha:
                main = {score: each.membership for score, each in calibrated.items()}
    for share in config.shares:
        other = Calibrations(rows, group_splits(groups, share, config.seed, config.splits))
        calibrated = other.of(rows.strata(MARGINAL), config.main_alpha)
        for metric in SWEPT:
            name = calibrated_on(metric, share)
            of_score = {score: OF_SETS[metric](each.counts) for score, each in calibrated.items()}
            of_score["mean"] = np.mean([of_score[score] for score in HEADLINE], axis=0)
            drawn += [(score, name, MARGINAL, config.main_alpha, each) for score, each in of_score.items()]
    return _figures(drawn, len(rows.ranked)), main


def _values(found: dict[str, Calibrated], kind: str, settings: Settings) -> Iterator[tuple[str, str, Array]]:
    """Score, metric and values [splits] of every metric of the sets of all scores and of their thresholds."""
    for metric, formula in OF_SETS.items():
        of_score = {score: formula(each.counts) for score, each in found.items()}
        if metrics()[metric].authors:
            of_score["mean"] = np.mean([of_score[score] for score in HEADLINE], axis=0)
        for score, values in of_score.items():
            yield from ((score, name, each) for name, each in named(metric, values).items())
    yield "", "infinite_threshold_rate", np.isinf(found[HEADLINE[0]].limits).mean(axis=1)
    if kind == MARGINAL:
        limits = {score: each.limits[:, 0] for score, each in found.items()}
        for score, each in limits.items():
            yield score, "threshold", score_values(score, each, settings)
        if "margin" in limits:
            yield "margin", "negative_threshold_rate", (limits["margin"] < 0).astype(np.float64)


def _figures(drawn: list[Drawn], items: int) -> list[Figure]:
    """Means over the splits with percentiles; none for a number that is infinite in some split."""
    finite = [each for each in drawn if np.isfinite(each[-1]).all()]
    if not finite:
        return []
    values = np.stack([each for *_, each in finite])
    numbers = zip(finite, values.mean(axis=1), *np.percentile(values, SHARES, axis=1), strict=True)
    figures = []
    for (score, metric, kind, alpha, _), mean, *ends in numbers:
        low, high = (None, None) if metric == "infinite_threshold_rate" else map(float, ends)
        figures.append(Figure(score, metric, float(mean), items, low, high, kind, alpha))
    return figures


declare(
    "shift_coverage",
    "Coverage under shift",
    "before empty sets are filled, thresholds from plain prompts",
    unit=SHARE,
    source="Barber et al. 2023",
)
declare("shift_set_size", "Set size under shift", "of filled sets", unit=OPTIONS)
declare("threshold_drift", "Threshold drift", "the variation's own minus the plain one")
declare(
    "shift_broken",
    "Broken",
    "1 where the interval of shift_coverage leaves out 1 - alpha, else 0",
    better="lower",
    source="Barber et al. 2023",
)
SLACK = 1e-9
"""Tolerance at the ends of an interval, which are rounded."""


def shift_figures(plain: "Block", other: "Block", config: "ScoreConfig") -> list[Figure]:
    """For every score, at the main alpha: figures of the variation `other`, with percentiles over the splits.

    Empty if a half is empty or a threshold infinite.
    """
    sides = [_without_defects(block) for block in (plain, other)]
    names = sorted({name for _, groups in sides for name in groups})
    if not all(len(rows) for rows, _ in sides) or len(names) < 2:
        return []
    numbers = [np.searchsorted(names, groups) for _, groups in sides]
    splits = group_splits(np.concatenate(numbers), config.calibration, config.seed, config.splits)
    first, second = (rows_of(rows, np.ones(len(rows)), config.scores, config.parameters) for rows, _ in sides)
    where = np.repeat([0, 1], [len(rows) for rows, _ in sides])
    testing = splits.part(len(sides[0][0]), splits.rows)
    figures = []
    if (testing.sizes < testing.rows).all():
        for score in config.scores:
            figures += _of_score(score, first, second, where, splits, testing, config.main_alpha)
    return figures


def _without_defects(block: "Block") -> tuple[Responses, list[str]]:
    kept = ~block.responses.defective
    return block.responses.take(kept), np.asarray(block.groups)[kept].tolist()


def _of_score(
    score: str,
    first: ScoredRows,
    second: ScoredRows,
    where: Ints,
    splits: Splits,
    testing: Splits,
    alpha: float,
) -> list[Figure]:
    answers = np.concatenate([first.answers[score], second.answers[score]])
    limits = thresholds(answers, where, 2, splits, alpha)
    if not np.isfinite(limits).all():
        return []
    rows, one = testing.rows, np.ones(len(limits))
    formula, alike = {score: second.scores[score]}, np.zeros(rows, dtype=np.int64)
    membership = set_membership(second.ranked, formula, {score: limits[:, :1]}, alike)[score]
    counts = SetCounts(membership.counts(testing), one, one)
    drawn = score_values(score, limits, first.settings)
    values = {
        "shift_coverage": unfilled_coverage(counts),
        "shift_set_size": OF_SETS["set_size"](counts),
        "threshold_drift": drawn[:, 1] - drawn[:, 0],
    }
    figures = [split_figure(name, each, rows, score, MARGINAL, alpha) for name, each in values.items()]
    low, high = percentiles(values["shift_coverage"])
    broken = float(not low - SLACK <= 1 - alpha <= high + SLACK)
    return [*figures, Figure(score, "shift_broken", broken, rows, calibration=MARGINAL, alpha=alpha)]
