"""longer: a verbose question has more words."""

from stages.rewrite.checking import words

KINDS = ("lr_v",)


def problem(original: str, rewrite: str) -> str:
    """See stages/rewrite/checking.py."""
    return "" if len(words(rewrite)) > len(words(original)) else "is no longer"
