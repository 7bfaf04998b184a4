r"""first_mark: the first `\([1-9A-Za-z]\)` anywhere in the text (ReForm-Eval, Li et al. 2023).

A, a and 1 all stand for the first option, whatever marks were shown. A mark beyond the options is a wrong
answer, but an answer.
"""

import re

from vouch.metrics.text.parsers import Choices, Named

_MARK = re.compile(r"\(([1-9A-Za-z])\)")


def parse(text: str, choices: Choices) -> Named:
    """The option of the first mark in brackets."""
    found = _MARK.search(text)
    if found is None:
        return None
    mark = found.group(1)
    return (int(mark) - 1 if mark.isdigit() else ord(mark.upper()) - ord("A"),)
