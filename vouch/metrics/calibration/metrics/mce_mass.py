"""MCE over bins that hold equally many rows: no bin of a handful of rows decides it."""

from typing import Any

from vouch.metrics.calibration.bins import Bins
from vouch.metrics.calibration.metrics import mce


def of_mass(bins: Bins) -> Any:
    """The largest gap."""
    return mce.of_bins(bins)
