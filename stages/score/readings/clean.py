"""The reading a statistician would stand for.

Rows that cleaning found defective are left out, only the options that the prompt shows count,
arithmetic is float64 and no number depends on the order of options or on how ties are broken. Whole
groups calibrate or test. Many splits are drawn. Three kinds of interval follow:

- metrics of prediction sets (coverage, set_size, uacc): mean over the splits, with the 2.5 and 97.5
  percentiles over the splits; it tells how much the split alone moves the number
- rates of all clean rows (accuracy, dont_know_rate, none_rate, tie_rate): sandwich formula over groups
- ece and mce of all clean rows: bootstrap over groups, about its median
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stages.score.beliefs import Beliefs, clean_beliefs
from stages.score.bins import equal_slots, tally
from stages.score.config import Config
from stages.score.intervals import SHARES, centred, cluster_mean, resampled_bins
from stages.score.metrics import SetRows
from stages.score.plugins import load
from stages.score.quantile import exact_rank
from stages.score.readings import HEADLINE, MARGINAL, Column, Figure, Reading
from stages.score.responses import Bools, Floats, Ints, Responses, count
from stages.score.sets import Sets
from stages.score.splits import group_splits


def clean(responses: Responses, config: Config) -> Reading:
    """Metrics of the clean rows among n responses and, a row, its mean coverage and set size.

    `rows_dropped` counts the defective rows. `infinite_threshold_rate` is the share of splits in which
    too few rows calibrate: their sets hold every option.
    """
    rows = responses.take(~responses.defective)
    figures = [Figure("", "rows_dropped", float(len(responses) - len(rows)), len(responses))]
    if not len(rows):
        return Reading(figures)
    beliefs = clean_beliefs(rows)
    calibrating = group_splits(rows.groups, config.calibration, config.seed, config.splits)
    counts = calibrating.sum(axis=1)
    ranks = np.array([exact_rank(int(count), config.alpha) for count in counts])
    sets = {}
    for name, score in load("conformal").items():
        sets[name] = _sets(beliefs, score.nonconformity(beliefs), calibrating, ranks)
    groups = float(np.count_nonzero(np.bincount(rows.groups)))
    figures.append(Figure("", "groups", groups, len(rows)))
    never = Figure("", "infinite_threshold_rate", float((ranks > counts).mean()), len(rows))
    figures.append(replace(never, calibration=MARGINAL, alpha=config.alpha))
    figures += _row_figures(beliefs, rows.groups) + _bin_figures(beliefs, rows.groups, config)
    figures += _set_figures(beliefs, sets, ~calibrating, config.alpha)
    return Reading(figures, _columns(beliefs, sets, ~calibrating, ~responses.defective))


def _sets(beliefs: Beliefs, scores: Floats, calibrating: Bools, ranks: Ints) -> Sets:
    """Sets [splits, n] {option: score <= threshold}; where that is empty, the most probable options."""
    answer = np.where(beliefs.answers, scores, np.inf).min(axis=1)
    thresholds = _thresholds(answer, calibrating, ranks)[:, None]
    # NaN, because not even an infinite threshold admits an option that does not exist.
    options = np.where(beliefs.present, scores, np.nan).T
    size = np.zeros(calibrating.shape, dtype=np.uint8)
    for option in options:
        size += option <= thresholds
    empty = size == 0
    covered = (answer <= thresholds) | (empty & (beliefs.tops & beliefs.answers).any(axis=1))
    return Sets(np.where(empty, count(beliefs.tops), size), covered)


def _thresholds(answer: Floats, calibrating: Bools, ranks: Ints) -> NDArray[np.float64]:
    """[splits] the smallest but rank-1 of the calibration rows' scores; +inf where there are fewer."""
    order = np.argsort(answer, kind="stable")
    reached = np.cumsum(calibrating[:, order], axis=1, dtype=np.int32) >= ranks[:, None]
    found = answer[order][reached.argmax(axis=1)]
    return np.where(reached[:, -1], found, np.inf)


def _row_figures(beliefs: Beliefs, groups: Ints) -> list[Figure]:
    figures = []
    for name, metric in load("metrics").items():
        values = metric.per_row(beliefs) if hasattr(metric, "per_row") else None
        if values is not None:
            low, high = cluster_mean(values, groups)
            figures.append(Figure("", name, float(values.mean()), len(values), low, high))
    return figures


def _bin_figures(beliefs: Beliefs, groups: Ints, config: Config) -> list[Figure]:
    confidence, correct = beliefs.confidence, beliefs.correct
    slots = equal_slots(confidence, config.bins)
    bins = tally(slots, config.bins, confidence, correct)
    draws = resampled_bins(slots, config.bins, confidence, correct, groups, config.seed)
    figures = []
    for name, metric in load("metrics").items():
        if hasattr(metric, "of_bins"):
            value = float(metric.of_bins(bins))
            low, high = centred(value, metric.of_bins(draws))
            figures.append(Figure("", name, value, len(slots), low, high))
    return figures


def _set_figures(beliefs: Beliefs, sets: Mapping[str, Sets], testing: Bools, alpha: float) -> list[Figure]:
    tested = testing.sum(axis=1)

    def mean(values: np.ndarray) -> NDArray[np.float64]:
        return np.asarray((values * testing).sum(axis=1, dtype=np.float64) / tested)

    figures = []
    for name, metric in load("metrics").items():
        if not hasattr(metric, "of_sets"):
            continue
        values = {}
        for score, of_score in sets.items():
            rows = SetRows(of_score.size, of_score.covered, beliefs.correct, beliefs.options)
            values[score] = metric.of_sets(rows, mean)
        values["mean"] = np.mean([values[score] for score in HEADLINE], axis=0)
        for score, of_split in values.items():
            low, high = np.percentile(of_split, SHARES)
            value, rows_behind = float(of_split.mean()), testing.shape[1]
            figures.append(Figure(score, name, value, rows_behind, float(low), float(high), MARGINAL, alpha))
    return figures


def _columns(beliefs: Beliefs, sets: Mapping[str, Sets], testing: Bools, kept: Bools) -> dict[str, Column]:
    times = testing.sum(axis=0)
    columns = {"clean_correct": _spread(beliefs.correct, np.ones(len(times), dtype=bool), kept)}
    for score, of_score in sets.items():
        for name in ("covered", "size"):
            total = (getattr(of_score, name) * testing).sum(axis=0, dtype=np.float64)
            columns[f"clean_{name}_{score}"] = _spread(total / np.maximum(times, 1), times > 0, kept)
    return columns


def _spread(values: Floats | Bools, known: Bools, kept: Bools) -> Column:
    """Values of the kept rows laid out over all rows; unknown where dropped."""
    every, everywhere = np.zeros(len(kept)), np.zeros(len(kept), dtype=bool)
    every[kept], everywhere[kept] = values, known
    return Column(every, everywhere)
