"""How the sizes of the prediction sets are distributed: the share of each, from 1 to the largest."""

from typing import Any

from vouch.metrics.calibration.metrics import SetCounts


def of_sets(sets: SetCounts) -> dict[str, Any]:
    """Size -> share of the sets that have it."""
    return {str(size): sets.mean(sets.size == size) for size in range(1, int(sets.size.max()) + 1)}
