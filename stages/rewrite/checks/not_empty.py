"""not_empty: the rewrite has words."""

from stages.contracts.rewrites import KINDS as ALL
from stages.rewrite.checking import words

KINDS = ALL


def problem(original: str, rewrite: str) -> str:
    """See stages/rewrite/checking.py."""
    return "" if words(rewrite) else "is empty"
