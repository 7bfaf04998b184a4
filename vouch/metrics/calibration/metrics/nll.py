"""Negative log-likelihood of the answer, in nats (the log score of Good 1952)."""

import numpy as np

from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.responses import Floats

UNIT = "nats"
LEAST = np.finfo(np.float64).tiny


def per_row(probabilities: Probabilities) -> Floats:
    """[n] -log of the probability on the answers; 708 nats, of the least float64, where that is 0."""
    right = (probabilities.p * probabilities.answers).sum(axis=1)
    return np.asarray(-np.log(np.clip(right, LEAST, 1)))
