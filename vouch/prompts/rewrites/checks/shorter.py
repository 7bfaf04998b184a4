"""shorter: a concise question has fewer words, or it is the question itself."""

from vouch.prompts.rewrites.checking import words

KINDS = ("lr_c",)


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    before, after = words(original), words(rewrite)
    return "" if after == before or len(after) < len(before) else "is no shorter"
