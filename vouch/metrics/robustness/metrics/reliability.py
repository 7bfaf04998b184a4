"""Certainty with the sign of being right more often than a guess (Schmalfuss et al. 2025)."""

from vouch.metrics.robustness.chance import reliability
from vouch.metrics.robustness.metrics import PROMPTS, Array, Means

FIELD, AVERAGED = "accuracy", PROMPTS


def of_means(means: Means) -> Array:
    """[..., v] in -1 ... 1, never farther from 0 than the certainty."""
    return reliability(means.accuracy, means.random_accuracy, means.certainty)
