"""Share of the test prompts whose prediction set holds an answer."""

from typing import Any

from stages.score.metrics import Mean, SetRows


def of_sets(rows: SetRows, mean: Mean) -> Any:
    """Mean of covered."""
    return mean(rows.covered)
