"""Share of the right answers that stand at each letter; several answers of a prompt share it equally."""

from typing import Any

from vouch.metrics.calibration.metrics import Letters


def of_letters(letters: Letters) -> dict[str, Any]:
    """Letter -> share."""
    return letters.by_letter(letters.right)
