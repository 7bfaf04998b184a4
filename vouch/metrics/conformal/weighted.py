"""Conformal thresholds under covariate shift (Tibshirani, Barber, Candes and Ramdas 2019).

They keep their coverage on questions drawn from another distribution than those that calibrate, if the two
differ in the covariates alone and not in how the answer follows from these, and if the density ratio is
known. Here it is estimated from embeddings, so that coverage is approximate.
"""

import numpy as np

from vouch.metrics.responses import Array

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
