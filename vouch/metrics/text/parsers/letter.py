"""letter: a text that begins with the mark of an option, with or without punctuation.

`B`, `(b)`, `B.`, `B: a cat`, `**B**`, `Option B`; not `A cat` and not `A, B`.
"""

import re
from functools import lru_cache

from vouch.metrics.text.marks import CLOSED, OPENING, Choices, Named, pattern, place
from vouch.metrics.text.wording import wide

_WORD = r"(?:(?:option|choice|answer|letter|opción|opção|alternativa|letra|选项|選択肢|תשובה)[\s:]{1,4})?"


@lru_cache
def _rule(marks: tuple[str, ...]) -> re.Pattern[str]:
    mark = pattern(marks)
    another = rf"(?!\W{{1,8}}(?:(?:and|or|y|e|o)\b\W{{1,8}})?{mark.replace('(', '(?:', 1)})"
    return re.compile(rf"{OPENING}(?i:{_WORD}){OPENING}{mark}{CLOSED}{another}")


def parse(text: str, choices: Choices) -> Named:
    """The option whose mark opens the text."""
    found = _rule(choices.marks).match(wide(text).strip()) if choices.marks else None
    return None if found is None else (place(found.group(1), choices.marks),)
