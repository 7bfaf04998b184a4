"""Consistency beside that of a guess (Schmalfuss et al. 2025, equation 5)."""

from vouch.metrics.robustness.chance import calibrated
from vouch.metrics.robustness.metrics import VARIATIONS, Array, Means

FIELD, AVERAGED = "consistency", VARIATIONS


def of_means(means: Means) -> Array:
    """[..., v] in -1 ... 1; 0 is a guess."""
    return calibrated(means.consistency, means.random_consistency)
