"""bare: the rewrite alone: no answer, options, explanation or word to whoever asked for it."""

import re

from vouch.tables.rewrites import KINDS as ALL

KINDS = ALL

_BESIDE = re.compile(
    r"(?:^|\s)(?:A|Q|Answer|Question|Note|Explanation|Rewritten|Rephrased|Instruction|Output)\s*:|"
    r"^(?:Sure|Certainly|Of course|Okay|As an AI|"
    r"Here(?: is|'s|’s| are)|I (?:cannot|can't|can’t|am|would|think)|"
    r"The (?:answer|question|opposite|rewritten|negated)\b[^?]*\b(?:is|would be)\b)|"
    r"\*\*|```|<\|?/?(?:s|im_end|eot_id|end)\|?>|\((?:A|B)\) \S|(?:^|\s)A\. \S.{0,200}\sB\. \S",
    re.IGNORECASE,
)


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    found = _BESIDE.search(rewrite)
    return f"says more than it should ({found[0].strip()})" if found and found[0] not in original else ""
