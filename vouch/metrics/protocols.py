"""The authors' protocol (Kostumov et al. 2024): their code's numbers, its quirks included.

One split that tears groups apart, every letter that was released counts, the stored dtype is kept,
ties fall as numpy's argsort let them fall, and ECE and MCE rest on all rows, the calibration half too.
There are no intervals: the authors give none.

The protocol a statistician would stand for.

Rows that cleaning found defective are left out, only the options that the prompt shows count,
arithmetic is float64 and no number depends on the order of options or on how ties are broken. Whole
groups calibrate or test. Many splits are drawn. Three kinds of interval follow:

- metrics of prediction sets and those after temperature scaling: mean over the splits, with the 2.5 and 97.5
  percentiles over the splits; it tells how much the split alone moves the number
- means over all clean rows (accuracy, brier, entropy, tie_rate, ...): sandwich formula over groups
- calibration errors, selective prediction and answer bias of all clean rows: bootstrap over groups, about
  its median
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from vouch.metrics.calibration.calibration import (
    Probabilities,
    authors_probabilities,
    clean_probabilities,
    tally,
    torchmetrics_slots,
)
from vouch.metrics.calibration.figures import OF_BINS, PER_ROW, confidence_figures
from vouch.metrics.config import Config
from vouch.metrics.conformal.authors import AUTHORS, Sets, authors_split, authors_threshold, sibling_share
from vouch.metrics.conformal.figures import OF_SETS, SetCounts, rows_of, set_figures
from vouch.metrics.conformal.selective import selective_figures
from vouch.metrics.conformal.sets import SetMembership, Splits, group_splits
from vouch.metrics.intervals import CLEAN, HEADLINE, MARGINAL, Column, Figure, Protocol, mean_figure
from vouch.metrics.registry import metrics
from vouch.metrics.responses import NO_ROLE, Bools, Floats, Ints, Responses
from vouch.tables.names import DONT_KNOW, NONE_OF_ABOVE

Formula = Callable[[Any], Any]


def faithful(responses: Responses, config: Config, every_row: bool = False) -> Protocol:
    """Metrics of n responses and, a row, whether it tests and the size and coverage of its sets.

    Rates like accuracy are means over the test half, or over every row. `infinite_threshold_rate` is 1
    where too few rows calibrate: sets then hold every letter.
    `sibling_share` is the leak: the share of test rows that have a row of their group in calibration.
    """
    if not len(responses):
        return Protocol([])
    test, calibration = authors_split(len(responses), config.calibration, config.seed)
    probabilities = authors_probabilities(_with_authors_roles(_with_own_answers(responses)))
    counted = np.arange(len(responses)) if every_row else test
    figures = [*_row_figures(probabilities, counted), *_bin_figures(probabilities, config.bins)]
    groups = responses.groups
    figures.append(Figure("", "groups", float(np.count_nonzero(np.bincount(groups))), len(groups)))
    figures.append(Figure("", "sibling_share", sibling_share(groups, test, calibration), len(test)))
    sets: dict[str, Sets] = {}
    for name in HEADLINE:
        threshold = authors_threshold(AUTHORS[name].answers(probabilities)[calibration], config.main_alpha)
        sets[name] = AUTHORS[name].sets(probabilities, threshold)
    never = Figure("", "infinite_threshold_rate", float(np.isinf(threshold)), len(test))
    figures.append(replace(never, calibration=MARGINAL, alpha=config.main_alpha))
    figures += _set_figures(probabilities, sets, test, config.main_alpha)
    return Protocol(figures, _columns(sets, test, len(responses)))


def _with_own_answers(responses: Responses) -> Responses:
    """Without the options that a template adds, also where one says what the item's own answer says."""
    added = (responses.roles == NONE_OF_ABOVE) | (responses.roles == DONT_KNOW)
    return replace(responses, answers=responses.answers & ~added)


def _with_authors_roles(responses: Responses) -> Responses:
    """Where more letters were released than the prompt shows, the last ones stand for the added options.

    The authors count the letters E and F whatever the prompt showed under them.
    """
    rows = np.flatnonzero(responses.letters > responses.options)
    if not len(rows):
        return responses
    roles, letters = responses.roles[rows], responses.letters[rows]
    none, unsure = (roles == NONE_OF_ABOVE).any(axis=1), (roles == DONT_KNOW).any(axis=1)
    roles[roles < 0] = NO_ROLE
    roles[none, letters[none] - 1] = NONE_OF_ABOVE
    roles[unsure, (letters - none)[unsure] - 1] = DONT_KNOW
    every = responses.roles.copy(order="K")
    every[rows] = roles
    return replace(responses, roles=every)


def _authors(table: Mapping[str, Formula]) -> Iterator[tuple[str, Formula]]:
    """Those of a table's metrics that the authors have."""
    yield from ((name, formula) for name, formula in table.items() if metrics()[name].authors)


def _row_figures(probabilities: Probabilities, test: Ints) -> list[Figure]:
    figures = []
    for name, formula in _authors(PER_ROW):
        values = formula(probabilities)
        if values is not None:
            rows = values[test] if metrics()[name].authors == "test" else values
            figures.append(Figure("", name, _mean(rows), len(rows)))
    return figures


def _bin_figures(probabilities: Probabilities, bins: int) -> list[Figure]:
    confidence = probabilities.confidence.astype(np.float32)
    slots = torchmetrics_slots(confidence, bins)
    tallied = tally(slots, bins + 1, confidence, probabilities.correct)
    return [Figure("", name, float(formula(tallied)), len(slots)) for name, formula in _authors(OF_BINS)]


def _set_figures(
    probabilities: Probabilities, sets: Mapping[str, Sets], test: Ints, alpha: float
) -> list[Figure]:
    correct, options = (
        np.array(_mean(probabilities.correct[test])),
        np.array(_mean(probabilities.options[test])),
    )
    counted = {
        score: SetCounts(np.bincount(of_score.size[test] * 4 + of_score.covered[test] * 2), correct, options)
        for score, of_score in sets.items()
    }
    figures: list[Figure] = []
    for name, formula in _authors(OF_SETS):
        values = {score: float(formula(each)) for score, each in counted.items()}
        values["mean"] = sum(values[score] for score in HEADLINE) / len(HEADLINE)
        figures.extend(
            Figure(score, name, value, len(test), calibration=MARGINAL, alpha=alpha)
            for score, value in values.items()
        )
    return figures


def _columns(sets: Mapping[str, Sets], test: Ints, count: int) -> dict[str, Column]:
    testing = np.zeros(count, dtype=bool)
    testing[test] = True
    half = np.where(testing, "test", "calibration")
    columns = {"half": Column(half, np.ones(count, dtype=bool))}
    for score, of_score in sets.items():
        columns[f"size_{score}"] = Column(of_score.size, testing)
        columns[f"covered_{score}"] = Column(of_score.covered, testing)
    return columns


def _mean(values: np.ndarray) -> float:
    total = np.count_nonzero(values) if values.dtype == bool else values.sum(dtype=np.float64)
    return float(total / len(values))


def clean(responses: Responses, config: Config) -> Protocol:
    """Metrics of the clean rows among n responses and, a row, its mean coverage and set size.

    `rows_dropped` counts the defective rows. `infinite_threshold_rate` is the share of splits, and of strata
    in them, in which too few rows calibrate: their sets hold every option.
    """
    rows = responses.take(~responses.defective)
    figures = [Figure("", "rows_dropped", float(len(responses) - len(rows)), len(responses))]
    if not len(rows):
        return Protocol(figures)
    probabilities = clean_probabilities(rows)
    ranked = rows_of(rows, probabilities.correct, config.scores, config.settings.penalties)
    splits = group_splits(rows.groups, config.calibration, config.seed, config.splits)
    groups = float(np.count_nonzero(np.bincount(rows.groups)))
    figures.append(Figure("", "groups", groups, len(rows)))
    for name, formula in PER_ROW.items():
        values = formula(probabilities)
        if values is not None:
            figures.append(mean_figure(name, values, rows.groups, CLEAN))
    figures += confidence_figures(probabilities, ranked, rows.groups, splits, config)
    figures += selective_figures(probabilities.sureness, probabilities.correct, rows.groups, config.seed)
    of_sets, found = set_figures(ranked, rows.groups, splits, config)
    return Protocol(figures + of_sets, _clean_columns(probabilities, found, splits, ~responses.defective))


def _clean_columns(
    probabilities: Probabilities, found: Mapping[str, SetMembership], splits: Splits, kept: Bools
) -> dict[str, Column]:
    columns = {"clean_correct": _spread(probabilities.correct, np.ones(splits.rows, dtype=bool), kept)}
    for score in HEADLINE:
        size, covered = found[score].row_means(splits)
        columns[f"clean_covered_{score}"] = _spread(covered, splits.tests > 0, kept)
        columns[f"clean_size_{score}"] = _spread(size, splits.tests > 0, kept)
    return columns


def _spread(values: Floats | Bools, known: Bools, kept: Bools) -> Column:
    """Values of the kept rows laid out over all rows; unknown where dropped."""
    every, everywhere = np.zeros(len(kept)), np.zeros(len(kept), dtype=bool)
    every[kept], everywhere[kept] = values, known
    return Column(every, everywhere)
