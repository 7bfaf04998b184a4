"""Short rules that read an option out of a generated text."""

import re

from vouch.metrics.text.marks import Choices, Named
from vouch.metrics.text.parsers import letter
from vouch.metrics.text.wording import plain, wide

_MARK = re.compile(r"\(([1-9A-Za-z])\)")


def option_text(text: str, choices: Choices) -> Named:
    """The only option with this text, but for case, spaces, punctuation and an article."""
    said = plain(text)
    same = tuple(index for index, option in enumerate(choices.texts) if plain(option) == said)
    return same if said and len(same) == 1 else None


def first_mark(text: str, choices: Choices) -> Named:
    r"""The option of the first `\([1-9A-Za-z]\)` anywhere in the text (ReForm-Eval, Li et al. 2023).

    A, a and 1 all stand for the first option, whatever marks were shown. A mark beyond the options is a wrong
    answer, but an answer.
    """
    found = _MARK.search(text)
    if found is None:
        return None
    mark = found.group(1)
    return (int(mark) - 1 if mark.isdigit() else ord(mark.upper()) - ord("A"),)


def contains(text: str, choices: Choices) -> Named:
    """Every option that the text contains, by its mark in brackets or its words, in the order shown (PARC).

    There a response is correct if it contains one or several correct answers, and wrong if it contains the
    answer of the original question that a variation flipped (Schmalfuss et al. 2025). Words
    inside a longer option's words do not count as the shorter option.
    """
    found = set(letter.parse(text, choices) or ())
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
