"""Share of the predictions that fall on each letter."""

from typing import Any

from vouch.metrics.calibration.metrics import Letters


def of_letters(letters: Letters) -> dict[str, Any]:
    """Letter -> share."""
    return letters.by_letter(letters.chosen)
