"""Pearson's correlation between the turn of a conversation and its mean accuracy (Li et al. 2023)."""

import numpy as np

from vouch.metrics.robustness.metrics import TURNS, Array

OVER, RESTING = TURNS, True


def of_cells(means: Array) -> Array:
    """[...] in -1 ... 1; NaN where all turns have the same accuracy."""
    turn = np.arange(means.shape[-1]) - (means.shape[-1] - 1) / 2
    gaps = means - means.mean(axis=-1, keepdims=True)
    spread = np.sqrt((gaps**2).sum(axis=-1) * (turn**2).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (gaps * turn).sum(axis=-1) / spread
    return np.where(spread > 0, np.clip(found, -1, 1), np.nan)
