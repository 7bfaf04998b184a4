"""Uncertainty-aware accuracy: accuracy sqrt(K) / set size, K options (Kostumov et al. 2024, equation 7)."""

from typing import Any

import numpy as np

from vouch.metrics.calibration.metrics import SetCounts

AUTHORS_ROWS = "test"


def of_sets(sets: SetCounts) -> Any:
    """Exceeds 1 where sets are small. K is the mean number of options where prompts differ."""
    return sets.correct * np.sqrt(sets.options) / sets.mean(sets.size)
