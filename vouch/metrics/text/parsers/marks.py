"""Options as they were shown, what an answer to them came to, and marks at the beginning of a text."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from vouch.metrics.text.numbers import wide

ANSWER, OPTION, SEVERAL, DECLINED, NONE = "answer", "option", "several", "declined", "none"
_OPENING = r"[\s\"'`*_(\[{<“‘«「【]{0,8}"
_CLOSED = r"(?=[ \t]{0,8}(?:$|\n)|[)\]}>.,;:!?\"'`*_”’»」】。、])"
"""What must follow a mark that could be a word or a number as well: `a`, `3`."""
_WORD = r"(?:(?:option|choice|answer|letter|opción|opção|alternativa|letra|选项|選択肢|תשובה)[\s:]{1,4})?"


@dataclass(frozen=True)
class Choices:
    """marks: the letter before each option as shown. texts: of the options. question: empty where unknown."""

    marks: tuple[str, ...]
    texts: tuple[str, ...]
    question: str = ""


class Reading(NamedTuple):
    """What a text came to. verdict: OPTION, SEVERAL that contradict another, DECLINED or NONE; ANSWER to an
    open question. places: of the options named. kind, span: the reason, a kind of evidence and its words."""

    verdict: str
    places: tuple[int, ...] = ()
    kind: str = ""
    span: str = ""


def opening(text: str, choices: Choices) -> int | None:
    """Place of the option whose mark opens the text: `B`, `(b)`, `B: a cat`, `Option B`; not of `A, B`."""
    found = _rule(choices.marks).match(wide(text).strip()) if choices.marks else None
    return None if found is None else [mark.lower() for mark in choices.marks].index(found.group(1).lower())


@lru_cache
def _rule(marks: tuple[str, ...]) -> re.Pattern[str]:
    """Either case of a letter counts, whatever case was shown."""
    mark = _any({form for mark in marks for form in (mark.lower(), mark.upper())})
    another = rf"(?!\W{{1,8}}(?:(?:and|or|y|e|o)\b\W{{1,8}})?{mark}{_CLOSED})"
    return re.compile(rf"{_OPENING}(?i:{_WORD}){_OPENING}({mark}){_CLOSED}{another}")


def _any(names: Iterable[str]) -> str:
    return f"(?:{'|'.join(re.escape(name) for name in sorted(names))})"
