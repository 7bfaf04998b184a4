"""Share of the prediction sets that name one letter: the questions that are settled."""

from typing import Any

from vouch.metrics.calibration.metrics import SetCounts


def of_sets(sets: SetCounts) -> Any:
    """Share of size 1, filled sets included."""
    return sets.mean(sets.size == 1)
