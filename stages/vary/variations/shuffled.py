"""shuffled: five prompts, each with the options in an order of its own; all else stays. `shuffled_10`: ten.

ReForm-Eval (Li et al. 2023) measures so how much of a model's instability comes from the order.
"""

from stages.contracts.prompts import KEPT
from stages.vary import tests_of
from stages.vary.variation import ORDER, Draft

CHANGES = (ORDER,)
EFFECT = KEPT
FAMILY = ""
LEVELS, DEFAULT_LEVEL = tests_of.MOST, tests_of.TESTS


def vary(draft: Draft, level: int) -> list[Draft] | None:
    """`level` drafts; None with fewer than two options, or where the style shows none."""
    if len(draft.order) < 2 or not draft.style.shows_options:
        return None
    return [tests_of.shuffled(draft, test) for test in range(1, level + 1)]
