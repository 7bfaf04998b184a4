"""dialogue_gold: the earlier questions of the conversation, each with its correct answer."""

from stages.contracts.prompts import KEPT
from stages.vary.conversation import CHANGES, conversation
from stages.vary.prompt import correct_answer
from stages.vary.variation import Draft

__all__ = ["CHANGES", "EFFECT", "FAMILY", "vary"]

EFFECT = KEPT
FAMILY = ""


def vary(draft: Draft) -> Draft | None:
    """None where the item is in no conversation, a turn is about other pictures or has no known answer."""
    return conversation(draft, lambda _, turn: correct_answer(turn))
