"""Entropy as a share of the largest that the number of options allows, H / log K."""

import numpy as np

from vouch.metrics.calibration.metrics import entropy
from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.responses import Floats


def per_row(probabilities: Probabilities) -> Floats:
    """[n] in 0 ... 1; 0 where there is one option."""
    most = np.log(np.maximum(probabilities.options.astype(np.float64), 2))
    return np.asarray(np.minimum(entropy.per_row(probabilities) / most, 1))
