"""LR-V: the question in more words, and with no more in it."""

import re

from vouch.prompts.rewrites.rules.clause import clause
from vouch.prompts.rewrites.rules.sentence import Cannot, capital, parse


def rewrite(text: str) -> str:
    """The wordy question. Raises Cannot."""
    sentence = parse(text)
    if sentence.imperative:
        if sentence.lead or re.match(r"(?:please|look|carefully)\b", sentence.lower):
            raise Cannot("is wordy already")
        return f"Please look carefully at what is shown and {sentence.lower}."
    lead = sentence.lead or "looking carefully at what is shown, "
    return capital(f"{lead}could you please tell me {clause(sentence.lower)}?")
