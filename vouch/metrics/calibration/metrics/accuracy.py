"""Share of the prompts whose prediction is an answer."""

from vouch.metrics.calibration.probabilities import Beliefs
from vouch.metrics.responses import Bools, Floats

AUTHORS_ROWS = "test"


def per_row(beliefs: Beliefs) -> Floats | Bools:
    """[n] share of the prediction that is correct: 0 or 1, in between only for ties in the clean reading."""
    return beliefs.correct
