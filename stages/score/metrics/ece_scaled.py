"""ECE on the test half after temperature scaling (Guo et al. 2017)."""

from typing import Any

from stages.score.metrics import ece
from stages.score.temperature import Scaled


def of_scaled(scaled: Scaled) -> Any:
    """[splits] over bins of equal width."""
    return ece.of_bins(scaled.bins)
