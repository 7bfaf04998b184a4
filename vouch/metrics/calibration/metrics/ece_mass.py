"""ECE over bins that hold equally many rows (Nguyen and O'Connor 2015)."""

from typing import Any

from vouch.metrics.calibration.bins import Bins
from vouch.metrics.calibration.metrics import ece


def of_mass(bins: Bins) -> Any:
    """Gaps weighted by the rows of their bin."""
    return ece.of_bins(bins)
