"""Share of the prompts where several letters have the largest logit."""

from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.responses import Bools, count

AUTHORS_ROWS = "all"


def per_row(probabilities: Probabilities) -> Bools:
    """[n] whether the top is tied."""
    return count(probabilities.tops) > 1
