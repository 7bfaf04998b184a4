"""Share of the test prompts whose prediction set holds an answer."""

from typing import Any

from vouch.metrics.calibration.metrics import SetCounts

AUTHORS_ROWS = "test"


def of_sets(sets: SetCounts) -> Any:
    """Mean of covered."""
    return sets.mean(sets.covered)
