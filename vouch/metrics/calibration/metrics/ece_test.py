"""ECE on the test half before temperature scaling, to compare with `ece_scaled` of the same rows."""

from typing import Any

from vouch.metrics.calibration.metrics import ece
from vouch.metrics.calibration.temperature import Scaled


def of_scaled(scaled: Scaled) -> Any:
    """[splits] over bins of equal width."""
    return ece.of_bins(scaled.before)
