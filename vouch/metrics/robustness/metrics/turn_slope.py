"""Change of accuracy from one turn of a conversation to the next: the least-squares line (Li et al. 2023)."""

import numpy as np

from vouch.metrics.robustness.metrics import TURNS, Array

OVER, RESTING = TURNS, True


def of_cells(means: Array) -> Array:
    """[...] accuracy per turn, every turn counts alike."""
    turn = np.arange(means.shape[-1]) - (means.shape[-1] - 1) / 2
    return np.asarray((means * turn).sum(axis=-1) / (turn**2).sum())
