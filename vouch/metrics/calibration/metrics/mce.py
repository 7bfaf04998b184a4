"""Maximum calibration error: the largest gap of a bin between confidence and accuracy."""

from typing import Any

from vouch.metrics.calibration.bins import Bins

AUTHORS_ROWS = "all"


def of_bins(bins: Bins) -> Any:
    """The largest gap."""
    return bins.gap.max(axis=-1)
