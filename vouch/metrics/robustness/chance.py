"""Scores beside those of a random guesser (Schmalfuss et al. 2025), so that datasets can be compared."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def calibrated(score: Array, random: Array) -> Array:
    """-1 ... 1: 0 for what a guess gives, 1 for a score of 1, -1 for 0 (equation 5).

    score, random: means in 0 ... 1, of the same shape; NaN where either is unknown or random is 0 below or 1
    above it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(score >= random, (score - random) / (1 - random), (score - random) / random)


def reliability(accuracy: Array, random: Array, certainty: Array) -> Array:
    """(2 accuracy^m - 1) certainty, with m = log 2 / log(1 / random): positive where a guess is beaten.

    Means in 0 ... 1 of the same shape, not values of rows. NaN where random is not between 0 and 1.
    """
    between = (random > 0) & (random < 1)
    power = np.log(2) / -np.log(np.where(between, random, 0.5))
    return np.where(between, (2 * accuracy**power - 1) * certainty, np.nan)
