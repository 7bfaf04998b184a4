"""longer: a verbose question has more words."""

from vouch.prompts.rewrites.checking import words

KINDS = ("lr_v",)


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    return "" if len(words(rewrite)) > len(words(original)) else "is no longer"
