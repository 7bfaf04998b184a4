"""Uncertainty-aware accuracy: accuracy sqrt(K) / set size, K options (Kostumov et al. 2024, equation 7)."""

from typing import Any

import numpy as np

from stages.score.metrics import Mean, SetRows


def of_sets(rows: SetRows, mean: Mean) -> Any:
    """Exceeds 1 where sets are small. K is the mean number of options where prompts differ."""
    return mean(rows.correct) * np.sqrt(mean(rows.options)) / mean(rows.size)
