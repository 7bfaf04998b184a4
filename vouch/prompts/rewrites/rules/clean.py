"""Cleaning: spacing, a capital and a question mark; what needs other words is left to people or a model."""

import re

from vouch.prompts.rewrites.rules.clause import clause
from vouch.prompts.rewrites.rules.sentence import Cannot, capital, parse

_BEGINS = re.compile(
    r"^(?:what|which|who|whose|where|when|why|how|is|are|was|were|do|does|did|can|could|will|in|on|at)\b"
)


def rewrite(text: str) -> str:
    """The same question, written as one. Raises Cannot."""
    sentence = parse(text)
    if sentence.imperative:
        raise Cannot("is an instruction, not a question")
    if not sentence.outputs or sentence.lead.lower().startswith("and "):
        clause(sentence.lower)  # without a question mark only its words tell that it asks
    if not _BEGINS.match(sentence.lower):
        raise Cannot("does not begin like a question")
    return capital(f"{sentence.lead}{sentence.lower if sentence.lead else sentence.body}?")
