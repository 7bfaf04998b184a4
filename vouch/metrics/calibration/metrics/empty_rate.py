"""Share of the prediction sets that are empty before they are filled with the most probable letter."""

from typing import Any

from vouch.metrics.calibration.metrics import SetCounts


def of_sets(sets: SetCounts) -> Any:
    """Mean of empty."""
    return sets.mean(sets.empty)
