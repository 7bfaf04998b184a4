"""Share of the prompts where several letters have the largest logit."""

from stages.score.beliefs import Beliefs
from stages.score.responses import Bools, count

AUTHORS_ROWS = "all"


def per_row(beliefs: Beliefs) -> Bools:
    """[n] whether the top is tied."""
    return count(beliefs.tops) > 1
