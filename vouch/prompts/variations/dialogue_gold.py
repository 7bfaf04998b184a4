"""dialogue_gold: the earlier questions of the conversation, each with its correct answer."""

from vouch.prompts.build.conversation import CHANGES, conversation
from vouch.prompts.build.prompt import correct_answer
from vouch.prompts.build.variation import Draft
from vouch.tables.prompts import KEPT

__all__ = ["CHANGES", "EFFECT", "FAMILY", "vary"]

EFFECT = KEPT
FAMILY = ""


def vary(draft: Draft) -> Draft | None:
    """None where the item is in no conversation, a turn is about other pictures or has no known answer."""
    return conversation(draft, lambda _, turn: correct_answer(turn))
