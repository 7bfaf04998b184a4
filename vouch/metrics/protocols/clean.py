"""The protocol a statistician would stand for.

Rows that cleaning found defective are left out, only the options that the prompt shows count,
arithmetic is float64 and no number depends on the order of options or on how ties are broken. Whole
groups calibrate or test. Many splits are drawn. Three kinds of interval follow:

- metrics of prediction sets and those after temperature scaling: mean over the splits, with the 2.5 and 97.5
  percentiles over the splits; it tells how much the split alone moves the number
- means over all clean rows (accuracy, brier, entropy, tie_rate, ...): sandwich formula over groups
- calibration errors, selective prediction and answer bias of all clean rows: bootstrap over groups, about
  its median
"""

from collections.abc import Mapping

import numpy as np

from vouch.metrics.calibration.confidence_figures import confidence_figures
from vouch.metrics.calibration.metrics import PER_ROW
from vouch.metrics.calibration.probabilities import Probabilities, clean_probabilities
from vouch.metrics.config import Config
from vouch.metrics.conformal.membership import SetMembership
from vouch.metrics.conformal.selective import selective_figures
from vouch.metrics.conformal.set_figures import rows_of, set_figures
from vouch.metrics.conformal.splits import Splits, group_splits
from vouch.metrics.protocols import CLEAN, HEADLINE, Column, Figure, Protocol, mean_figure
from vouch.metrics.responses import Bools, Floats, Responses


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
    return Protocol(figures + of_sets, _columns(probabilities, found, splits, ~responses.defective))


def _columns(
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
