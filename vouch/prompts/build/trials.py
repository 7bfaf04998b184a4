"""Several tests of one question, as ReForm-Eval (Li et al. 2023) makes them: test k has the k-th wording of
the instruction and of the question, and an order of the options of its own.

The order comes from a seed of the item and the test; the authors' code sets none. Every order is equally
likely. A template with `equal_options: drop` leaves wrong options out that have the correct one's text, as
the authors do in some task families; elsewhere they stay.
"""

import random
from dataclasses import replace
from functools import lru_cache

from vouch.prompts.build.variation import Draft, changed

TESTS = 5  # as many as the authors ask
MOST = 50
_RANDOM = random.Random()  # seeded before every use: a new one for each order takes twice as long


def wordings(draft: Draft) -> int:
    """How many different wordings of the instruction or of the question there are, at least 1."""
    return max(len(draft.template.instructions), len(draft.item.phrasings), 1)


def worded(draft: Draft, test: int) -> Draft:
    """The wordings of a test, from 1; they go round where there are fewer."""
    item, template = draft.item, draft.template
    if not item.phrasings and not template.instructions:
        return draft
    if item.phrasings:
        item = replace(item, question=item.phrasings[(test - 1) % len(item.phrasings)])
    if template.instructions:
        chosen = template.instructions[(test - 1) % len(template.instructions)]
        template = template.changed(instructions=(chosen,))
    return changed(draft, item=item, template=template)


def shuffled(draft: Draft, test: int) -> Draft:
    """The options of a test, from 1, in an order of its own."""
    item, order = draft.item, list(draft.order)
    if draft.template.equal_options == "drop":
        correct = {item.options[index] for index in item.answers}
        order = [index for index in order if index in item.answers or item.options[index] not in correct]
    places = _shuffled_places(f"{item.id}/{test}", len(order))
    return changed(draft, order=tuple([order[place] for place in places]))


@lru_cache(maxsize=2 * MOST)  # several variations shuffle the options of an item
def _shuffled_places(seed: str, count: int) -> list[int]:
    places = list(range(count))
    _RANDOM.seed(seed)
    _RANDOM.shuffle(places)
    return places
