"""Share of the prompts answered with the option "I don't know" that the template adds."""

from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.responses import Bools, Floats
from vouch.tables.prompts import DONT_KNOW

AUTHORS_ROWS = "test"


def per_row(probabilities: Probabilities) -> Floats | Bools | None:
    """[n] share of the prediction on that option; None where no prompt has it."""
    letters = probabilities.roles == DONT_KNOW
    return probabilities.share(letters) if letters.any() else None
