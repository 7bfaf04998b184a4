"""dialogue_gold: the earlier questions of the conversation, each with its correct answer."""

from vouch.prompts.build.prompts import correct_answer
from vouch.prompts.build.variation import Draft
from vouch.prompts.variations import dialogue

CHANGES, EFFECT, FAMILY = dialogue.CHANGES, dialogue.EFFECT, dialogue.FAMILY


def vary(draft: Draft) -> Draft | None:
    """None where the item is in no conversation, a turn is about other pictures or has no known answer."""
    return dialogue.conversation(draft, lambda _, turn: correct_answer(turn))
