"""Shannon entropy of the probabilities over the options, in nats (Shannon 1948)."""

import numpy as np

from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.responses import Floats

UNIT = "nats"


def per_row(probabilities: Probabilities) -> Floats:
    """[n] -sum p log p, in 0 ... log K."""
    p = np.maximum(probabilities.ranked, 0)
    return np.asarray((p * -np.log(np.where(p > 0, p, 1))).sum(axis=1))
