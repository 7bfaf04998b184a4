"""Mean number of letters in the prediction set."""

from typing import Any

from stages.score.metrics import Mean, SetRows


def of_sets(rows: SetRows, mean: Mean) -> Any:
    """Mean of size, in letters."""
    return mean(rows.size)
