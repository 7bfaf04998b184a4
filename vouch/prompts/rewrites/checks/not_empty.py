"""not_empty: the rewrite has words."""

from vouch.prompts.rewrites.checking import words
from vouch.tables.rewrites import KINDS as ALL

KINDS = ALL


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    return "" if words(rewrite) else "is empty"
