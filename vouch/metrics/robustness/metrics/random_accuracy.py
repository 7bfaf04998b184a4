"""Accuracy of a guess among the native options: the mean of the share of them that is correct."""

from vouch.metrics.robustness.metrics import Array, Means

FIELD, AVERAGED = "random_accuracy", ""


def of_means(means: Means) -> Array:
    """[..., v] in 0 ... 1."""
    return means.random_accuracy
