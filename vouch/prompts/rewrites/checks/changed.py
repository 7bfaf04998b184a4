"""changed: a question that must turn, or grow, is not the same as before.

An instruction may stay an instruction and a short question short, as PARC's own words have it.
"""

from vouch.prompts.rewrites.checking import words
from vouch.tables.rewrites import NEGATIONS

KINDS = ("lr_v", *NEGATIONS)


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    return "says the same as the question" if words(original) == words(rewrite) else ""
