"""shuffled: five prompts, each with the options in an order of its own; all else stays. `shuffled_10`: ten.

ReForm-Eval (Li et al. 2023) measures so how much of a model's instability comes from the order.
"""

from vouch.prompts.build import trials
from vouch.prompts.build.variation import ORDER, Draft
from vouch.tables.prompts import KEPT

CHANGES = (ORDER,)
EFFECT = KEPT
FAMILY = ""
LEVELS, DEFAULT_LEVEL = trials.MOST, trials.TESTS


def vary(draft: Draft, level: int) -> list[Draft] | None:
    """`level` drafts; None with fewer than two options, or where the template shows none."""
    if len(draft.order) < 2 or not draft.template.shows_options:
        return None
    return [trials.shuffled(draft, test) for test in range(1, level + 1)]
