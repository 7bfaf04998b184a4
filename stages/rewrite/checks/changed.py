"""changed: a question that must turn, or grow, is not the same as before.

An instruction may stay an instruction and a short question short, as PARC's own words have it.
"""

from stages.contracts.rewrites import NEGATIONS
from stages.rewrite.checking import words

KINDS = ("lr_v", *NEGATIONS)


def problem(original: str, rewrite: str) -> str:
    """See stages/rewrite/checking.py."""
    return "says the same as the question" if words(original) == words(rewrite) else ""
