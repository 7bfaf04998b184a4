"""negated: LS-N brings one negation in, where none was: a second one would turn the question back."""

import re

from vouch.prompts.rewrites.checking import NEGATION

KINDS = ("ls_n",)

_NOT = re.compile(r"\b(?:not|cannot)\b|n['’]t\b", re.IGNORECASE)


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    if NEGATION.search(original):
        return "negates a question that holds a negation already"
    if not _NOT.search(rewrite):
        return "holds no `not`"
    return "negates twice" if len(NEGATION.findall(rewrite)) > 1 else ""
