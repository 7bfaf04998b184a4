"""Figures of prediction sets: every score, kind of calibration and alpha, over many splits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vouch.metrics.conformal.membership import Scores, SetMembership, answer_scores, set_membership
from vouch.metrics.conformal.metrics import OF_SETS, SetCounts
from vouch.metrics.conformal.ranked import Ranked, rank
from vouch.metrics.conformal.scores import Penalties, score_values, with_penalties
from vouch.metrics.conformal.splits import Splits, group_splits
from vouch.metrics.conformal.thresholds import STRATA, Strata, thresholds
from vouch.metrics.intervals import SHARES
from vouch.metrics.protocols import HEADLINE, MARGINAL, Figure
from vouch.metrics.registry import metrics, named
from vouch.metrics.responses import Array, Bools, Floats, Ints, Responses

if TYPE_CHECKING:
    from vouch.metrics.config import Config

SWEPT = ("coverage", "set_size")
"""Metrics that are given for every share of `score.shares`."""
Drawn = tuple[str, str, str, float, Array]
"""score, metric, calibration, alpha, and one number of every split [splits]."""


@dataclass(frozen=True)
class Rows:
    """The rows of a protocol: ranked, categories [n], correct [n]; by name of the score its order and that of
    the answers [n], as in vouch.metrics.conformal.scores, with the penalties."""

    ranked: Ranked
    categories: Ints
    correct: Floats | Bools
    scores: dict[str, Scores]
    answers: dict[str, Array]
    penalties: Penalties

    def strata(self, kind: str) -> Strata:
        """The strata of a kind of calibration."""
        return STRATA[kind](self.ranked, self.categories)


@dataclass(frozen=True)
class Calibrated:
    """Sets of one score: thresholds [splits, strata] by its order, the set membership of all rows, and their
    counts."""

    limits: Array
    membership: SetMembership
    counts: SetCounts


def rows_of(
    responses: Responses, correct: Floats | Bools, scores: Sequence[str], penalties: Penalties
) -> Rows:
    """Rows from responses; correct [n]: share of each row's prediction that is correct; scores: names."""
    ranked = rank(responses)
    formulas: dict[str, Scores] = {name: with_penalties(name, penalties) for name in scores}
    answers = answer_scores(ranked, formulas)
    return Rows(ranked, responses.categories, correct, formulas, answers, penalties)


class Calibrations:
    """Sets of the same rows under the same splits; what they share is computed once."""

    def __init__(self, rows: Rows, splits: Splits) -> None:
        self.rows, self.splits = rows, splits
        self.correct = splits.test_means(rows.correct)
        self.options = splits.test_means(rows.ranked.options)

    def of(self, strata: Strata, alpha: float) -> dict[str, Calibrated]:
        """The sets of every score."""
        limits = {
            score: thresholds(answers, strata.answers, strata.number, self.splits, alpha)
            for score, answers in self.rows.answers.items()
        }
        found = set_membership(self.rows.ranked, self.rows.scores, limits, strata.rows)
        return {
            score: Calibrated(
                limits[score], each, SetCounts(each.counts(self.splits), self.correct, self.options)
            )
            for score, each in found.items()
        }


def set_figures(
    rows: Rows, groups: Ints, splits: Splits, config: "Config"
) -> tuple[list[Figure], dict[str, SetMembership]]:
    """All figures of sets, and the set membership by score under the main calibration.

    A kind of calibration with a single stratum is left out: it is the marginal one.
    """
    drawn: list[Drawn] = []
    calibrations = Calibrations(rows, splits)
    main = {}
    for kind in config.strata:
        strata = rows.strata(kind)
        if strata.number == 1 and kind != MARGINAL:
            continue
        for alpha in config.alphas:
            found = calibrations.of(strata, alpha)
            values = _values(found, kind, rows.penalties)
            drawn += [(score, metric, kind, alpha, each) for score, metric, each in values]
            if kind == MARGINAL and alpha == config.main_alpha:
                main = {score: each.membership for score, each in found.items()}
    for share in config.shares:
        other = Calibrations(rows, group_splits(groups, share, config.seed, config.splits))
        found = other.of(rows.strata(MARGINAL), config.main_alpha)
        for metric in SWEPT:
            name = f"{metric}_calibrated_on_{100 * share:g}"  # in percent
            for score, each in found.items():
                drawn.append((score, name, MARGINAL, config.main_alpha, OF_SETS[metric](each.counts)))
    return _figures(drawn, len(rows.ranked)), main


def _values(
    found: dict[str, Calibrated], kind: str, penalties: Penalties
) -> Iterator[tuple[str, str, Array]]:
    """score, metric, [splits]: every metric of the sets of all scores, and their thresholds."""
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
            yield score, "threshold", score_values(score, each, penalties)
        if "margin" in limits:
            yield "margin", "negative_threshold_rate", (limits["margin"] < 0).astype(np.float64)


def _figures(drawn: list[Drawn], items: int) -> list[Figure]:
    """Means over the splits with percentiles; nothing of a number that is infinite in some split."""
    finite = [each for each in drawn if np.isfinite(each[-1]).all()]
    if not finite:
        return []
    lows, highs = np.percentile(np.stack([values for *_, values in finite]), SHARES, axis=1)
    figures = []
    for (score, metric, kind, alpha, values), low, high in zip(finite, lows, highs, strict=True):
        figure = Figure(score, metric, float(values.mean()), items, float(low), float(high), kind, alpha)
        spread = metric != "infinite_threshold_rate"
        figures.append(figure if spread else replace(figure, low=None, high=None))
    return figures
