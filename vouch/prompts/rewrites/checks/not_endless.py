"""not_endless: the rewrite is as long as a sentence is, whatever the server sent."""

from vouch.tables.rewrites import KINDS as ALL

KINDS = ALL

_TIMES, _MORE = 4, 400  # a wordy question has at most so many times the characters, and so many more


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    return f"has {len(rewrite)} characters" if len(rewrite) > _TIMES * len(original) + _MORE else ""
