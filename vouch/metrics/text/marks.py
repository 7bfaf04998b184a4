"""Option marks in running text: which spellings of a mark count as one."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

OPENING = r"[\s\"'`*_(\[{<“‘«「【]{0,8}"
CLOSED = r"(?=[ \t]{0,8}(?:$|\n)|[)\]}>.,;:!?\"'`*_”’»」】。、])"
"""What must follow a mark that could be a word or a number as well: `a`, `3`."""
Named = tuple[int, ...] | None
"""Places of options; see vouch/metrics/text/parsers."""
_WORDS = ("A", "I")
_REASONED = r"(?=\s{1,4}(?:because|since|as|due|given)\b|[⺀-鿿])"
_APART = r"(?![A-Za-zÀ-ɏ0-9]|['’][a-z])"


@dataclass(frozen=True)
class Choices:
    """marks: the letter before each option as shown. texts: of the options."""

    marks: tuple[str, ...]
    texts: tuple[str, ...]


@lru_cache
def pattern(marks: tuple[str, ...]) -> str:
    """A regular expression for any of the marks, in a group; no part of a word.

    Upper-case letters may stand before a word (`B is right`), unless they are words themselves (`A cat`, `I
    think`); other marks may not. Either case of a letter counts, whatever case was shown.
    """
    small = _any(mark.lower() for mark in marks)
    upper = [mark.upper() for mark in marks if mark.upper() != mark.lower()]
    words = _any(mark for mark in upper if mark in _WORDS)
    letters = _any(mark for mark in upper if mark not in _WORDS)
    return f"({letters}{_APART}|{words}(?:{CLOSED}|{_REASONED})|{small}{CLOSED})"


def _any(names: Iterable[str]) -> str:
    """One of the names; with none of them, nothing matches."""
    listed = "|".join(re.escape(name) for name in names)
    return f"(?:{listed})" if listed else "(?!)"


def place(mark: str, marks: tuple[str, ...]) -> int:
    """Index of a mark that was found, in either case."""
    return [known.lower() for known in marks].index(mark.lower())
