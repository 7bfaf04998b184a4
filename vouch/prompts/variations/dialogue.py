"""dialogue: the earlier questions of the conversation, each with what the model itself answered to it.

As the online multi-round questions of ReForm-Eval (Li et al. 2023). The earlier prompts are those of this
variation, so each answer was given after the ones before it. They must ask for text: `asks` of the template.
"""

from collections.abc import Callable

from vouch.prompts.build.template import Template
from vouch.prompts.build.variation import ORDER, TEMPLATE, TURNS, WORDS, Draft, prompt_id, start
from vouch.tables.asked import KEPT

# Earlier turns are shown as their items have them: a conversation half in other words is nobody's.
CHANGES, EFFECT, FAMILY = (TURNS, WORDS, ORDER, TEMPLATE), KEPT, ""
_OPENING = "([{\"'"


def vary(draft: Draft) -> Draft | None:
    """None where the item is in no conversation or not asked, or a turn is about other pictures."""
    found = conversation(draft, lambda number, _: f"{{answer {number}}}")
    if found is None or not draft.asked:
        return None
    return found._replace(earlier=tuple((prompt_id(turn.id, draft.variation),) for turn in draft.item.turns))


def conversation(draft: Draft, answer: Callable[[int, Draft], str | None]) -> Draft | None:
    """The draft with its item's earlier turns; an item that opens a conversation stays as it is.

    answer: of the k-th turn, k from 1, and its draft; None where it has none. None where the item is in
    no conversation, a turn is about other pictures or nobody asks it, or a turn has no answer.
    """
    item = draft.item
    if not item.turns and not item.goes_on:
        return None
    if any(not turn.kept or turn.images != item.images for turn in item.turns):
        return None
    asked = [start(turn, draft.template, draft.variation) for turn in item.turns]
    answers = [answer(number, one) for number, one in enumerate(asked, start=1)]
    turns = [
        (one, after_response(draft.template, said))
        for one, said in zip(asked, answers, strict=True)
        if said is not None
    ]
    return draft._replace(turns=tuple(turns)) if len(turns) == len(asked) else None


def after_response(template: Template, said: str) -> str:
    """What the assistant said as a whole, with the words that the template puts at its beginning."""
    begun = template.response or ""
    gap = "" if not begun or begun[-1].isspace() or begun[-1] in _OPENING else " "
    return f"{begun}{gap}{said}".strip()
