"""Coverage under prompt shift: thresholds from plain prompts, sets of the same questions asked differently.

The coverage guarantee of a prediction set holds for prompts like those that calibrated it. Whoever calibrates
on plain prompts and then meets others (another order of options, a blank picture) has what is measured here:
in every split the calibration half of the plain prompts gives the thresholds, the test half of the others is
tested, with the same groups in the same halves. A variation breaks exchangeability where the interval of that
coverage leaves out 1 - alpha (Barber et al. 2023 bound how far it can fall short).
"""

import numpy as np

from vouch.metrics.config import Config
from vouch.metrics.conformal.figures import OF_SETS, Rows, SetCounts, rows_of, unfilled_coverage
from vouch.metrics.conformal.scores import score_values
from vouch.metrics.conformal.sets import Splits, group_splits, set_membership, thresholds
from vouch.metrics.intervals import MARGINAL, Figure, percentiles, split_figure
from vouch.metrics.join import Block
from vouch.metrics.responses import Ints, Responses

SLACK = 1e-9
"""Of the ends of an interval, which are rounded."""


def shift_figures(plain: Block, other: Block, config: Config) -> list[Figure]:
    """For every score, at the main alpha: figures of the variation `other`, with percentiles over the splits.

    shift_coverage    before empty sets are filled, which is what the guarantee speaks about
    shift_set_size    of filled sets
    threshold_drift   the variation's own minus the plain one
    shift_broken      1 where the interval of shift_coverage leaves out 1 - alpha, else 0
    Nothing where a half is empty or a threshold infinite.
    """
    sides = [_without_defects(block) for block in (plain, other)]
    names = sorted({name for _, groups in sides for name in groups})
    if not all(len(rows) for rows, _ in sides) or len(names) < 2:
        return []
    numbers = [np.searchsorted(names, groups) for _, groups in sides]
    splits = group_splits(np.concatenate(numbers), config.calibration, config.seed, config.splits)
    first, second = (
        rows_of(rows, np.ones(len(rows)), config.scores, config.settings.penalties) for rows, _ in sides
    )
    where = np.repeat([0, 1], [len(rows) for rows, _ in sides])
    testing = splits.part(len(sides[0][0]), splits.rows)
    figures = []
    if (testing.sizes < testing.rows).all():
        for score in config.scores:
            figures += _of_score(score, first, second, where, splits, testing, config.main_alpha)
    return figures


def _without_defects(block: Block) -> tuple[Responses, list[str]]:
    kept = ~block.responses.defective
    return block.responses.take(kept), np.asarray(block.groups)[kept].tolist()


def _of_score(
    score: str, first: Rows, second: Rows, where: Ints, splits: Splits, testing: Splits, alpha: float
) -> list[Figure]:
    answers = np.concatenate([first.answers[score], second.answers[score]])
    limits = thresholds(answers, where, 2, splits, alpha)
    if not np.isfinite(limits).all():
        return []
    rows, one = testing.rows, np.ones(len(limits))
    alike = np.zeros(rows, dtype=np.int64)
    found = set_membership(second.ranked, {score: second.scores[score]}, {score: limits[:, :1]}, alike)[score]
    counts = SetCounts(found.counts(testing), one, one)
    drawn = score_values(score, limits, first.penalties)
    values = {
        "shift_coverage": unfilled_coverage(counts),
        "shift_set_size": OF_SETS["set_size"](counts),
        "threshold_drift": drawn[:, 1] - drawn[:, 0],
    }
    figures = [split_figure(name, each, rows, score, MARGINAL, alpha) for name, each in values.items()]
    low, high = percentiles(values["shift_coverage"])
    broken = float(not low - SLACK <= 1 - alpha <= high + SLACK)
    return [*figures, Figure(score, "shift_broken", broken, rows, calibration=MARGINAL, alpha=alpha)]
