"""Brier score: squared distance of the probabilities from the truth (Brier 1950)."""

import numpy as np

from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.responses import Floats

UNIT = "squared distance"


def per_row(probabilities: Probabilities) -> Floats:
    """[n] sum over the options of (p - y)^2, in 0 ... 2; several answers share y = 1 equally."""
    truth = probabilities.answers / probabilities.answers.sum(axis=1, keepdims=True)
    return np.asarray(np.sort((probabilities.p - truth) ** 2, axis=1).sum(axis=1))
