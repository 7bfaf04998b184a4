"""script: the language stays, as far as letters tell: no script comes in that the question does not use."""

import unicodedata

from vouch.tables.rewrites import KINDS as ALL

KINDS = ALL


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    new = sorted(_scripts(rewrite) - _scripts(original))
    return f"is written in another script ({new[0].title()})" if new else ""


def _scripts(text: str) -> set[str]:
    return {unicodedata.name(char, "unknown").split(" ")[0] for char in text if char.isalpha()}
