"""Consistency of a guess among k options: 1/k where the answer is kept, 1 - 1/k where it is turned.

Schmalfuss et al. 2025.
"""

from vouch.metrics.robustness.metrics import Array, Means

FIELD, AVERAGED = "random_consistency", ""


def of_means(means: Means) -> Array:
    """[..., v] in 0 ... 1."""
    return means.random_consistency
