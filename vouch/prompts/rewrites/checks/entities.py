"""entities: numbers, names and marks of pictures stay, and no other ones come in.

Numbers are those in digits, names the words with a capital that do not begin a sentence.
"""

import re

from vouch.tables.items import IMAGE_MARK
from vouch.tables.rewrites import KINDS as ALL

KINDS = ALL

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BEFORE_A_SENTENCE = '.?!:"“‘('


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    pairs = (("mark", IMAGE_MARK.findall), ("number", _NUMBER.findall))
    for what, found in pairs:
        differing = set(found(original)) ^ set(found(rewrite))
        if differing:
            return f"changes a {what} ({min(differing)})"
    for one, other, verb in ((original, rewrite, "loses"), (rewrite, original, "brings in")):
        there = {word.lower().removesuffix("'s").removesuffix("’s") for word in _WORD.findall(other)}
        gone = [name for name in _names(one) if name.lower() not in there]
        if gone:
            return f"{verb} the name {gone[0]}"
    return ""


def _names(text: str) -> list[str]:
    found = [
        word for word in _WORD.finditer(text) if word[0][0].isupper() and not _begins(text, word.start())
    ]
    names = [word[0].removesuffix("'s").removesuffix("’s") for word in found]
    return [name for name in names if name != "I" and not name.startswith(("I'", "I’"))]


def _begins(text: str, place: int) -> bool:
    """Whether a sentence or a line begins there."""
    while place and text[place - 1].isspace() and text[place - 1] != "\n":
        place -= 1
    return not place or text[place - 1] == "\n" or text[place - 1] in _BEFORE_A_SENTENCE
