"""Share of the prompts whose prediction is an answer."""

from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.responses import Bools, Floats

AUTHORS_ROWS = "test"


def per_row(probabilities: Probabilities) -> Floats | Bools:
    """[n] share of the prediction that is correct: 0 or 1, in between only for ties in the clean protocol."""
    return probabilities.correct
