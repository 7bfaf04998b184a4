"""shuffled: five prompts, each with the options in an order of its own; all else stays. `shuffled_10`: ten.

ReForm-Eval (Li et al. 2023) measures so how much of a model's instability comes from the order. The order
comes from a seed of the item and the test (the authors' code sets none); every order is equally likely.
"""

import random
from functools import lru_cache

from vouch.prompts.build.variation import ORDER, Draft
from vouch.tables.asked import KEPT

CHANGES, EFFECT, FAMILY = (ORDER,), KEPT, ""
LEVELS, DEFAULT_LEVEL = 50, 5  # the authors ask five
_RANDOM = random.Random()  # seeded before every use: a new one for each order takes twice as long


def vary(draft: Draft, level: int) -> list[Draft] | None:
    """`level` drafts; None with fewer than two options, or where the template shows none."""
    if len(draft.order) < 2 or not draft.template.shows_options:
        return None
    return [shuffled(draft, test) for test in range(1, level + 1)]


def shuffled(draft: Draft, test: int) -> Draft:
    """The options of a test, from 1, in an order of its own.

    A template with `equal_options: drop` leaves wrong options out that have the correct one's text, as the
    authors do in some task families.
    """
    item, order = draft.item, draft.order
    if draft.template.equal_options == "drop":
        correct = {item.options[index] for index in item.answers}
        order = tuple(index for index in order if index in item.answers or item.options[index] not in correct)
    return draft._replace(order=_in_order(order, f"{item.id}/{test}"))


@lru_cache(maxsize=2 * LEVELS)  # several variations shuffle the options of an item
def _in_order(order: tuple[int, ...], seed: str) -> tuple[int, ...]:
    shown = list(order)
    _RANDOM.seed(seed)
    _RANDOM.shuffle(shown)
    return tuple(shown)
