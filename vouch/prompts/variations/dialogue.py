"""dialogue: the earlier questions of the conversation, each with what the model itself answered to it.

As the online multi-round questions of ReForm-Eval (Li et al. 2023). The earlier prompts are those of this
variation, so each answer was given after the ones before it. They must ask for text: `asks` of the template.
"""

from dataclasses import replace

from vouch.prompts.build.conversation import CHANGES, conversation
from vouch.prompts.build.variation import Draft, prompt_id
from vouch.tables.prompts import KEPT

__all__ = ["CHANGES", "EFFECT", "FAMILY", "vary"]

EFFECT = KEPT
FAMILY = ""


def vary(draft: Draft) -> Draft | None:
    """None where the item is in no conversation or not asked, or a turn is about other pictures."""
    found = conversation(draft, lambda number, _: f"{{answer {number}}}")
    if found is None or not draft.asked:
        return None
    return replace(found, earlier=tuple((prompt_id(turn.id, draft.variation),) for turn in draft.item.turns))
