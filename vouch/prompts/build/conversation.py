"""A question after the earlier ones of its conversation, each with an answer."""

from collections.abc import Callable
from dataclasses import replace

from vouch.prompts.build.template import Template
from vouch.prompts.build.variation import ORDER, STYLE, TURNS, WORDS, Draft, start

# Earlier turns are shown as their items have them: a conversation half in other words is nobody's.
CHANGES = (TURNS, WORDS, ORDER, STYLE)
_OPENING = "([{\"'"


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
        (one, _after_response(draft.template, said))
        for one, said in zip(asked, answers, strict=True)
        if said is not None
    ]
    return replace(draft, turns=tuple(turns)) if len(turns) == len(asked) else None


def _after_response(template: Template, said: str) -> str:
    """What the assistant said as a whole, with the words that the template puts at its beginning."""
    begun = template.response or ""
    gap = "" if not begun or begun[-1].isspace() or begun[-1] in _OPENING else " "
    return f"{begun}{gap}{said}".strip()
