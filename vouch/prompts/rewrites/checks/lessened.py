"""lessened: LS-M brings `less` or `fewer` in, for a comparison that the question makes."""

import re

KINDS = ("ls_m",)

_LESS = re.compile(r"\b(?:less|fewer)\b", re.IGNORECASE)
_MORE = re.compile(r"\bmore\b", re.IGNORECASE)


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    if len(_LESS.findall(rewrite)) != len(_LESS.findall(original)) + 1:
        return "does not bring in one `less` or `fewer`"
    if _MORE.search(original) and len(_MORE.findall(rewrite)) >= len(_MORE.findall(original)):
        return "keeps its `more`"
    return ""
