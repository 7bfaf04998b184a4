"""Share of the prompts answered with the option "None of the above" that the template adds."""

from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.responses import Bools, Floats
from vouch.tables.prompts import NONE_OF_ABOVE

AUTHORS_ROWS = "test"


def per_row(probabilities: Probabilities) -> Floats | Bools | None:
    """[n] share of the prediction on that option; None where no prompt has it."""
    letters = probabilities.roles == NONE_OF_ABOVE
    return probabilities.share(letters) if letters.any() else None
