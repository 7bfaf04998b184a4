"""Largest minus smallest accuracy among the tests (Li et al. 2023 ReForm-Eval: among instructions)."""

import numpy as np

from vouch.metrics.robustness.metrics import TESTS, Array

OVER, RESTING = TESTS, False


def of_cells(means: Array) -> Array:
    """[...] in 0 ... 1."""
    return np.asarray(means.max(axis=-1) - means.min(axis=-1))
