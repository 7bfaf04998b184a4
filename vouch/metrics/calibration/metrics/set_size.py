"""Mean number of letters in the prediction set."""

from typing import Any

from vouch.metrics.calibration.metrics import SetCounts

AUTHORS_ROWS = "test"


def of_sets(sets: SetCounts) -> Any:
    """Mean of size, in letters."""
    return sets.mean(sets.size)
