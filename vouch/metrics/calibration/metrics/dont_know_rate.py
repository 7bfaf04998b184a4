"""Share of the prompts answered with the option "I don't know" that the style adds."""

from vouch.metrics.calibration.probabilities import Beliefs
from vouch.metrics.responses import Bools, Floats
from vouch.tables.prompts import DONT_KNOW

AUTHORS_ROWS = "test"


def per_row(beliefs: Beliefs) -> Floats | Bools | None:
    """[n] share of the prediction on that option; None where no prompt has it."""
    letters = beliefs.roles == DONT_KNOW
    return beliefs.share(letters) if letters.any() else None
