"""Expected calibration error: mean gap between confidence and accuracy (Naeini et al. 2015)."""

from typing import Any

from vouch.metrics.calibration.bins import Bins

AUTHORS_ROWS = "all"


def of_bins(bins: Bins) -> Any:
    """Gaps weighted by the rows of their bin."""
    return (bins.gap * bins.weight).sum(axis=-1)
