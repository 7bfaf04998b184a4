"""Share of the prompts where several letters have the largest logit."""

from vouch.metrics.calibration.probabilities import Beliefs
from vouch.metrics.responses import Bools, count

AUTHORS_ROWS = "all"


def per_row(beliefs: Beliefs) -> Bools:
    """[n] whether the top is tied."""
    return count(beliefs.tops) > 1
