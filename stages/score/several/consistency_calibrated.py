"""Consistency beside that of a guess (Schmalfuss et al. 2025, equation 5)."""

from stages.score.chance import calibrated
from stages.score.several import VARIATIONS, Array, Means

FIELD, AVERAGED = "consistency", VARIATIONS


def of_means(means: Means) -> Array:
    """[..., v] in -1 ... 1; 0 is a guess."""
    return calibrated(means.consistency, means.random_consistency)
