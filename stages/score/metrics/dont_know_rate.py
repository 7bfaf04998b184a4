"""Share of the prompts answered with the option "I don't know" that the style adds."""

from stages.contracts.prompts import DONT_KNOW
from stages.score.beliefs import Beliefs
from stages.score.responses import Bools, Floats

AUTHORS_ROWS = "test"


def per_row(beliefs: Beliefs) -> Floats | Bools | None:
    """[n] share of the prediction on that option; None where no prompt has it."""
    letters = beliefs.roles == DONT_KNOW
    return beliefs.share(letters) if letters.any() else None
