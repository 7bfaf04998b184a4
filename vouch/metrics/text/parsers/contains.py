"""contains: every option that the text contains, by its mark in brackets or its words (PARC).

There a response is correct if it contains one or several correct answers, and wrong if it contains the answer
of the original question that a variation turned into its opposite (Schmalfuss et al. 2025). Words inside a
longer option's words do not count as the shorter option.
"""

import re

from vouch.metrics.text.parsers import Choices, Named, letter
from vouch.metrics.text.wording import plain, wide


def parse(text: str, choices: Choices) -> Named:
    """All the options that occur, in the order shown."""
    opening = letter.parse(text, choices)
    found = set(opening or ())
    said = wide(text)
    found |= {index for index, mark in enumerate(choices.marks) if f"({mark})" in said}
    rest = " ".join(said.casefold().split())
    by_length = sorted(enumerate(map(plain, choices.texts)), key=lambda option: (-len(option[1]), option[0]))
    for index, words in by_length:
        if words:
            rest, times = re.subn(rf"(?<![^\W_]){re.escape(words)}(?![^\W_])", "\0", rest)
            if times:
                found.add(index)
    return tuple(sorted(found)) or None
