"""one_sentence: one question or instruction, on one line. What stands in quotation marks does not count."""

import re

from vouch.tables.rewrites import KINDS as ALL

KINDS = ALL

_QUOTED = re.compile(r"‘[^’]*’(?!\w)|“[^”]*”|\"[^\"]*\"|\s'[^']*'(?!\w)")
# an initial or an abbreviation is no end
_END = re.compile(r"(?<!\b\w)(?<!\b(?:vs|St|Mr|Dr|No))(?<!\bMrs)[.?!]+(?=\s+\S)")


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    if "\n" in rewrite.strip():
        return "has several lines"
    return "has several sentences" if _END.search(_QUOTED.sub("", rewrite).strip()) else ""
