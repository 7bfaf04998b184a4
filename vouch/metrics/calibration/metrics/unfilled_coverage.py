"""Coverage before empty sets are filled: what the guarantee speaks about."""

from typing import Any

from vouch.metrics.calibration.metrics import SetCounts


def of_sets(sets: SetCounts) -> Any:
    """Share of the sets that hold an answer and were not empty."""
    return sets.mean(sets.covered * (1 - sets.empty))
