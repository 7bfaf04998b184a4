"""Gap between the two largest probabilities: what Azad et al. (2025) print as their equation 6.

It names no option, so it is a measure of certainty and no nonconformity score; that is `margin`.
"""

import numpy as np

from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.responses import Floats


def per_row(probabilities: Probabilities) -> Floats:
    """[n] the largest probability minus the second largest, in 0 ... 1."""
    ranked = np.maximum(probabilities.ranked, 0)
    second = ranked[:, 1] if ranked.shape[1] > 1 else 0.0
    return np.asarray(ranked[:, 0] - second)
