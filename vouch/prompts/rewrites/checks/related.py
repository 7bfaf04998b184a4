"""related: a third of the question's content words are still there; an answer has fewer."""

from pathlib import Path

from vouch.pipeline.yaml12 import load
from vouch.prompts.rewrites.checking import words
from vouch.tables.rewrites import KINDS as ALL

KINDS = ALL

_FUNCTION = frozenset(load(Path(__file__).parent / "function_words.yaml")["words"])
_LEAST = 1 / 3
_STEM = 4  # first letters that two forms of a word share


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    asked = {word for word in words(original) if len(word) >= _STEM and word not in _FUNCTION}
    stems = {word[:_STEM] for word in words(rewrite)}
    kept = sum(word[:_STEM] in stems for word in asked)
    return "" if kept >= _LEAST * len(asked) else "keeps too few of the question's words"
