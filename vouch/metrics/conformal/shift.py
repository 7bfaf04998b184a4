"""Conformal thresholds under covariate shift (Tibshirani, Barber, Candes and Ramdas 2019).

They keep their coverage on questions drawn from another distribution than those that calibrate, if the two
differ in the covariates alone and not in how the answer follows from these, and if the density ratio is
known. Here it is estimated from embeddings, so that coverage is approximate.

Coverage under prompt shift: thresholds from plain prompts, sets of the same questions asked differently.

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
from vouch.metrics.responses import Array, Ints, Responses

STEPS = 50
DIGITS = 6
"""Digits that are kept of a ratio: the last ones hang on how many threads the linear algebra had."""


def density_ratio(source: Array, target: Array, penalty: float = 1.0) -> tuple[Array, Array]:
    """Of the rows of source [n, d] and target [m, d]: how much likelier they are in the target.

    Odds of a logistic regression on standardised columns, times n / m; all its coefficients but the intercept
    are shrunk by penalty / 2 times their squares. By Newton's method.
    """
    rows = np.concatenate([source, target])
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1)
    rows = np.column_stack([rows, np.ones(len(rows))])
    wanted = np.repeat([0.0, 1.0], [len(source), len(target)])
    shrink = np.append(np.full(source.shape[1], penalty), 0.0)
    found = np.append(np.zeros(source.shape[1]), np.log(len(target) / len(source)))
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-rows @ found))
        curvature = (rows * (p * (1 - p))[:, None]).T @ rows + np.diag(shrink) + 1e-9 * np.eye(len(shrink))
        step = np.linalg.solve(curvature, rows.T @ (wanted - p) - shrink * found)
        found = found + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-10:
            break
    odds = np.exp(np.clip(rows @ found, -30, 30)) * len(source) / len(target)
    odds = np.array([float(f"{each:.{DIGITS - 1}e}") for each in odds])
    return odds[: len(source)], odds[len(source) :]


def weighted_thresholds(scores: Array, weights: Array, new: Array, alpha: float) -> Array:
    """[m] the threshold of each question of a weight new [m]; scores, weights [n] of those that calibrate.

    The smallest score that leaves at most a share alpha of all weight, that of the new question included, on
    larger ones; inf where its own is more than that. With equal weights the usual threshold.
    """
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order])
    total = reached[-1] if len(reached) else 0.0
    place = np.searchsorted(reached, (1 - alpha) * (total + new) * (1 - 1e-12))
    return np.append(scores[order], np.inf)[np.minimum(place, len(scores))]


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
