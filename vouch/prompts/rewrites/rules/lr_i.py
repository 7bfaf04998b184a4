"""LR-I: the question as an instruction.

PARC's own say `Determine` and `Identify`, words that the demo's models never met. `Tell me` is as plain, and
what it costs them is then the form, not a word.
"""

from vouch.prompts.rewrites.rules.clause import clause
from vouch.prompts.rewrites.rules.sentence import capital, parse


def rewrite(text: str) -> str:
    """The instruction; one that is an instruction already stays as it is. Raises Cannot."""
    sentence = parse(text)
    if sentence.imperative:
        return text
    return capital(f"{sentence.lead}tell me {clause(sentence.lower)}.")
