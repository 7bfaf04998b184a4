"""Figures of prediction sets: every score, kind of calibration and alpha, over many splits."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.config import Config
from vouch.metrics.conformal.membership import (
    Scores,
    SetMembership,
    answer_scores,
    mean_over_tests,
    set_membership,
)
from vouch.metrics.conformal.metrics import OF_SETS, SetCounts
from vouch.metrics.conformal.ranked import Ranked, rank
from vouch.metrics.conformal.scores import with_settings
from vouch.metrics.conformal.splits import Splits, group_splits
from vouch.metrics.conformal.strata import STRATA, Strata
from vouch.metrics.conformal.thresholds import thresholds
from vouch.metrics.intervals import SHARES
from vouch.metrics.protocols import HEADLINE, MARGINAL, Figure
from vouch.metrics.registry import OPTIONS, Metric, named
from vouch.metrics.responses import Bools, Floats, Ints, Responses

DECLARED = {
    "coverage_calibrated_on": Metric("Coverage", "by the share of the items that calibrates, in percent"),
    "infinite_threshold_rate": Metric(
        "Infinite thresholds", "share of the splits and strata in which too few rows calibrate", "lower"
    ),
    "negative_threshold_rate": Metric(
        "Negative thresholds", "share of the splits in which the margin's threshold is below 0"
    ),
    "set_size_calibrated_on": Metric(
        "Set size", "by the share of the items that calibrates, in percent", "lower", OPTIONS
    ),
    "threshold": Metric("Threshold", "nonconformity score up to which an option is in the set", unit=""),
}
SWEPT = ("coverage", "set_size")
"""Metrics that are given for every share of `score.shares`."""


@dataclass(frozen=True)
class Rows:
    """The rows of a protocol: ranked, categories [n], correct [n], scores and answer scores [n] by name."""

    ranked: Ranked
    categories: Ints
    correct: Floats | Bools
    scores: dict[str, Scores]
    answers: dict[str, NDArray[np.float64]]

    def strata(self, kind: str) -> Strata:
        """The strata of a kind of calibration."""
        return STRATA[kind](self.ranked, self.categories)


@dataclass(frozen=True)
class Calibrated:
    """Sets of one score: thresholds [splits, strata], the set membership of all rows, and their counts."""

    limits: NDArray[np.float64]
    membership: SetMembership
    counts: SetCounts


def rows_of(responses: Responses, correct: Floats | Bools, config: Config) -> Rows:
    """Rows from responses; correct [n]: share of each row's prediction that is correct."""
    ranked = rank(responses)
    scores: dict[str, Scores] = {name: with_settings(name, config.settings) for name in config.scores}
    return Rows(ranked, responses.categories, correct, scores, answer_scores(ranked, scores))


class Calibrations:
    """Sets of the same rows under the same splits; what they share is computed once."""

    def __init__(self, rows: Rows, splits: Splits) -> None:
        self.rows, self.splits = rows, splits
        self.correct = mean_over_tests(rows.correct, splits)
        self.options = mean_over_tests(rows.ranked.options, splits)

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
    rows: Rows, groups: Ints, splits: Splits, config: Config
) -> tuple[list[Figure], dict[str, SetMembership]]:
    """All figures of sets, and the set membership by score under the main calibration.

    A kind of calibration with a single stratum is left out: it is the marginal one.
    """
    made = _Drawn(len(rows.ranked))
    calibrations = Calibrations(rows, splits)
    main = {}
    for kind in config.strata:
        strata = rows.strata(kind)
        if strata.number == 1 and kind != MARGINAL:
            continue
        for alpha in config.alphas:
            found = calibrations.of(strata, alpha)
            made.add(found, kind, alpha)
            if kind == MARGINAL and alpha == config.main_alpha:
                main = {score: each.membership for score, each in found.items()}
    for share in config.shares:
        other = Calibrations(rows, group_splits(groups, share, config.seed, config.splits))
        made.sweep(other.of(rows.strata(MARGINAL), config.main_alpha), share, config.main_alpha)
    return made.figures(), main


class _Drawn:
    """Numbers of every split, [splits], that become figures together."""

    def __init__(self, items: int) -> None:
        self.items = items
        self.names: list[tuple[str, str, str, float]] = []
        self.values: list[NDArray[np.float64]] = []

    def put(self, score: str, metric: str, kind: str, alpha: float, values: NDArray[np.float64]) -> None:
        """One number of every split."""
        self.names.append((score, metric, kind, alpha))
        self.values.append(values)

    def add(self, found: dict[str, Calibrated], kind: str, alpha: float) -> None:
        """Every metric of the sets of all scores, and their thresholds."""
        for metric, formula in OF_SETS.items():
            of_score = {score: formula.of(each.counts) for score, each in found.items()}
            if formula.authors:
                of_score["mean"] = np.mean([of_score[score] for score in HEADLINE], axis=0)
            for score, values in of_score.items():
                for name, each in named(metric, values).items():
                    self.put(score, name, kind, alpha, each)
        limits = {score: each.limits for score, each in found.items()}
        self.put("", "infinite_threshold_rate", kind, alpha, np.isinf(limits[HEADLINE[0]]).mean(axis=1))
        if kind == MARGINAL:
            for score, limit in limits.items():
                self.put(score, "threshold", kind, alpha, limit[:, 0])
            if "margin" in limits:
                negative = (limits["margin"][:, 0] < 0).astype(np.float64)
                self.put("margin", "negative_threshold_rate", kind, alpha, negative)

    def sweep(self, found: dict[str, Calibrated], share: float, alpha: float) -> None:
        """The metrics of the sweep, named after the calibration share in percent."""
        for metric in SWEPT:
            for score, each in found.items():
                name = f"{metric}_calibrated_on_{100 * share:g}"
                self.put(score, name, MARGINAL, alpha, OF_SETS[metric].of(each.counts))

    def figures(self) -> list[Figure]:
        """Means over the splits with percentiles; nothing of a number that is infinite in some split."""
        if not self.values:
            return []
        values = np.stack(self.values)
        finite = np.asarray(np.isfinite(values).all(axis=1))
        lows, highs = np.percentile(np.where(finite[:, None], values, 0), SHARES, axis=1)
        figures = []
        for name, row, low, high, known in zip(self.names, values, lows, highs, finite, strict=True):
            score, metric, kind, alpha = name
            bounds: tuple[float | None, float | None] = (float(low), float(high))
            if metric == "infinite_threshold_rate":
                bounds = (None, None)
            if known:
                figures.append(Figure(score, metric, float(row.mean()), self.items, *bounds, kind, alpha))
        return figures
