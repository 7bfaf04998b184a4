"""A question's options as the reader looks for them: letters, texts, values, yes and no.

`Choices` are the options as shown, `Known` the same prepared for the search, `Reading` the result for a text.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from vouch.metrics.text.numbers import WORDS, number
from vouch.metrics.text.reader.cues import EQUAL, NO, SCRIPT, YES, piece
from vouch.metrics.text.wording import tight, trimmed, undressed, wide

ANSWER, OPTION, SEVERAL, DECLINED, NONE = "answer", "option", "several", "declined", "none"
_OPENING = r"[\s\"'`*_(\[{<“‘«「【]{0,8}"
_CLOSED = r"(?=[ \t]{0,8}(?:$|\n)|[)\]}>.,;:!?\"'`*_”’»」】。、])"
"""What must follow a mark that could be a word or a number as well: `a`, `3`."""
_PREFIX = rf"(?:{piece('prefix')}[\s:]{{1,4}})?"


@dataclass(frozen=True)
class Choices:
    """labels: the letter before each option as shown. texts: of the options. question: empty if unknown."""

    labels: tuple[str, ...]
    texts: tuple[str, ...]
    question: str = ""


class Reading(NamedTuple):
    """The result for a text. verdict: OPTION, SEVERAL that conflict, DECLINED or NONE; ANSWER to an
    open question. places: positions of options. kind, span: the reason, a kind of evidence and its words."""

    verdict: str
    places: tuple[int, ...] = ()
    kind: str = ""
    span: str = ""


def opening(text: str, choices: Choices) -> int | None:
    """Index of the option whose label opens the text: `B`, `(b)`, `B: a cat`, `Option B`; not of `A, B`."""
    found = _rule(choices.labels).match(wide(text).strip()) if choices.labels else None
    if found is None:
        return None
    return [label.lower() for label in choices.labels].index(found.group(1).lower())


@lru_cache
def _rule(labels: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for an opening label; a letter counts in either case, whichever was shown."""
    label = _any({form for each in labels for form in (each.lower(), each.upper())})
    another = rf"(?!\W{{1,8}}(?:(?:and|or|y|e|o)\b\W{{1,8}})?{label}{_CLOSED})"
    return re.compile(rf"{_OPENING}(?i:{_PREFIX}){_OPENING}({label}){_CLOSED}{another}")


def _any(names: Iterable[str]) -> str:
    return f"(?:{'|'.join(re.escape(name) for name in sorted(names))})"


LATIN = "A-Za-z0-9À-ɏ_"
ARTICLE = re.compile(rf"{piece('article')} (?=\S)")
_EXACT = 1e-9


class Known:
    """The options. shown: marks; places: position by mark in lower case. texts: as compared; unique:
    position by text, for texts that occur once."""

    def __init__(self, choices: Choices) -> None:
        self._given = choices.texts
        self.shown = frozenset(filter(None, choices.labels))
        self.places = {mark.lower(): place for place, mark in enumerate(choices.labels) if mark.strip()}
        self.labels = _label_patterns(choices.labels)
        self._full = [compared(text) for text in choices.texts]
        # The `A` of `A is closer` is no article if `B is closer` is another option.
        lettered = len({text[0] for text in self._full if text[1:2] == " "}) > 1
        self.texts = tuple(self._full if lettered else [without_article(text) for text in self._full])
        self.unique: dict[str, int] = {}
        for place, text in enumerate(self.texts):
            self.unique[text] = -1 if text in self.unique else place
        self.unique = {text: place for text, place in self.unique.items() if text and place >= 0}

    @cached_property
    def answers(self) -> Mapping[bool, int]:
        """Positions of yes (True) and no (False), if there are both."""
        found = {text in YES: place for text, place in self.unique.items() if text in YES or text in NO}
        return found if len(found) == 2 else {}

    @cached_property
    def equal(self) -> Mapping[str, int]:
        """Position by words, for words that mean the same as exactly one option."""
        found: dict[str, int] = {}
        for words in EQUAL:
            places = [place for text, place in self.unique.items() if text in words]
            found |= dict.fromkeys(words, places[0]) if len(places) == 1 else {}
        return found

    @cached_property
    def values(self) -> tuple[float | None, ...]:
        """The values of options that are numbers and equal to no other option; empty if there are none."""
        if not any(char.isdigit() or char == "π" for text in self.texts for char in text) and not any(
            text.partition(" ")[0].partition("-")[0] in WORDS for text in self.texts
        ):
            return ()
        values = [
            number(undressed(one)) if text else None
            for one, text in zip(self._given, self.texts, strict=True)
        ]
        times = Counter(values)
        found = tuple(value if times[value] == 1 else None for value in values)
        return found if any(value is not None for value in found) else ()

    @cached_property
    def numeric(self) -> bool:
        """Whether most options have values, so that any number in a text may name one."""
        return 2 * (len(self.values) - self.values.count(None)) > sum(map(bool, self.texts))

    @cached_property
    def counted(self) -> bool:
        """Whether an option may be called by its number: no label and no option is one."""
        return not self.numeric and not any(label.isdigit() for label in self.places)

    @cached_property
    def small(self) -> bool:
        """Whether a value may be written as words."""
        return any(value is not None and value >= 0 and value == int(value) for value in self.values)

    @cached_property
    def compact(self) -> Mapping[str, int]:
        """Position by text without blanks, for formulas and names of points: `2:3`, `6a-3b`, `PQ`."""
        found: dict[str, int] = {}
        for text, place in self.unique.items():
            key = tight(text)
            if not key.isalpha() or len(key) == len(text.split()):
                found[key] = -1 if key in found else place
        return {key: place for key, place in found.items() if place >= 0}

    @cached_property
    def shared(self) -> tuple[Mapping[str, int], str]:
        """For options differing in their first letter (`A is darker`): position by it, and the last word."""
        words = [text.split() for text in self._full]
        rests = Counter(tuple(each[1:]) for each in words if 3 <= len(each) <= 6 and len(each[0]) == 1)
        rest, times = rests.most_common(1)[0] if rests else ((), 0)
        if times < 2:
            return {}, ""
        return {each[0]: place for place, each in enumerate(words) if tuple(each[1:]) == rest}, rest[-1]

    def valued(self, value: float) -> int | None:
        """The only option with this value, if need be rounded to the decimals that the option has."""
        for rounded in (False, True):
            fitting = [
                place
                for place, known in enumerate(self.values)
                if known is not None
                and abs(value - known) <= (_slack(known) if rounded else _EXACT * abs(known))
            ]
            if len(fitting) == 1:
                return fitting[0]
        return None


def _slack(known: float) -> float:
    """Half a unit of the last decimal, if there are two or more; else the rounding error of arithmetic."""
    decimals = len(f"{known:.10f}".rstrip("0").partition(".")[2])
    return 0.5 * 10.0**-decimals if 2 <= decimals < 10 else 1e-6


def compared(text: str) -> str:
    """The text in plain lower-case Unicode without LaTeX, with single spaces, no punctuation around it."""
    return trimmed(" ".join(undressed(text).lower().split()))


@lru_cache(maxsize=4096)
def known(choices: Choices) -> Known:
    """The options prepared for the search."""
    return Known(choices)


def without_article(text: str) -> str:
    """The text without an article at its beginning."""
    article = ARTICLE.match(text)
    return text[article.end() :] if article else text


@lru_cache
def _label_patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Rules for any capital letter by itself, small option letters before punctuation, and other labels."""
    letters = "".join(
        label.lower() for label in labels if len(label) == 1 and label.isascii() and label.isalpha()
    )
    others = "|".join(re.escape(label) for label in labels if label.strip() and label.lower() not in letters)
    rules = [rf"[A-Z](?![{LATIN}/]|'[a-z])(?<![{LATIN}/-].)(?<![A-Za-z]'.)"] if letters else []
    rules += (
        [rf"[{letters}](?<![{LATIN}/-].)(?=[ \t]{{0,3}}(?:$|\n)|[)\].,;:])(?<![A-Za-z]'.)"] if letters else []
    )
    spaced = any(char.isalpha() and "\u024f" < char < SCRIPT for char in others)
    edge = r"\w" if spaced else LATIN
    rules += [rf"(?<![{edge}.-])(?:{others})(?![{edge}]|[.,]\d)"] if others else []
    return tuple(re.compile(rule) for rule in rules)
