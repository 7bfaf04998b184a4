"""LR-I: the question as an instruction."""

from stages.rewrite.rules.clause import clause
from stages.rewrite.rules.sentence import capital, parse

_VERB = {"if": "determine", "which": "determine", "what": "identify", "the": "state"}


def rewrite(text: str) -> str:
    """The instruction; one that is an instruction already stays as it is. Raises Cannot."""
    sentence = parse(text)
    if sentence.imperative:
        return text
    found = clause(sentence.lower)
    return capital(f"{sentence.lead}{_VERB[found.form]} {found.text}.")
