"""printable: no character comes in that no text shows: control codes, marks of direction, a broken text."""

import unicodedata

from vouch.tables.rewrites import KINDS as ALL

KINDS = ALL

_HIDDEN = ("Cc", "Cf", "Co", "Cn")
_BROKEN = "\ufffd"


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    new = sorted(char for char in set(rewrite) - set(original) if _hidden(char))
    return f"holds a character that no text shows (U+{ord(new[0]):04X})" if new else ""


def _hidden(char: str) -> bool:
    return char == _BROKEN or (unicodedata.category(char) in _HIDDEN and not char.isspace())
