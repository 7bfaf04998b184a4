"""Options as they were shown, what an answer to them came to, and marks at the beginning of a text.

A place in a text that names an option.

The options of a question in the form in which they are looked for.

Options named by their marks: `B`, `(b)`, `**B.** a dog`.

Where a text names options: by their marks, their texts or their values, and what belongs together.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from vouch.metrics.text.numbers import (
    WORD_NUMBER,
    WORDS,
    expression,
    expressions,
    number,
    spelled,
    tight,
    trimmed,
    undressed,
    wide,
)
from vouch.metrics.text.reader.cues import (
    AFFIRMING,
    DENIED,
    EQUAL,
    JOINS,
    NO,
    SCRIPT,
    YES,
    any_of,
    either,
    phrases,
)

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


_POINTS = (".", ",", "^")
BARE, CLOSED, BRACKETED, TEXT, VALUE = "bare mark", "mark", "bracketed mark", "text", "value"


@dataclass(slots=True)
class Span:
    """places: of the options named, none for a mark that no option has. marked: by a mark. own: the option's
    text follows its mark. clash: the option whose text follows another one's mark."""

    places: tuple[int, ...]
    start: int
    end: int
    form: str
    marked: bool = False
    own: bool = False
    clash: tuple[int, ...] = ()


def whole(low: str, start: int, end: int) -> bool:
    """Whether no word, number or formula goes on before or after this place."""
    if _goes_on(low[start - 1 : start], low[start]) or _goes_on(low[end : end + 1], low[end - 1]):
        return False
    if low[start].isdigit() and start and low[start - 1] in _POINTS:
        return low[start - 1] == "," and not low[start - 2 : start - 1].isdigit()
    return not (low[end - 1].isdigit() and low[end : end + 1] in _POINTS and low[end + 1 : end + 2].isdigit())


def _goes_on(beyond: str, edge: str) -> bool:
    return beyond.isalnum() and beyond < SCRIPT and edge.isalnum() and edge < SCRIPT


LATIN = "A-Za-z0-9À-ɏ_"
ARTICLE = re.compile(rf"{either(phrases('article'))} (?=\S)")
_EXACT = 1e-9


class Known:
    """The options of a question. shown: marks; places: of each in lower case. texts: as compared; unique:
    places of those that stand once."""

    def __init__(self, choices: Choices) -> None:
        self._given = choices.texts
        self.shown = frozenset(filter(None, choices.marks))
        self.places = {mark.lower(): place for place, mark in enumerate(choices.marks) if mark.strip()}
        self.marks = _marks(choices.marks)
        self._full = [compared(text) for text in choices.texts]
        # `A is closer` begins with no article where `B is closer` is another option.
        lettered = len({text[0] for text in self._full if text[1:2] == " "}) > 1
        self.texts = tuple(self._full if lettered else [without_article(text) for text in self._full])
        self.unique: dict[str, int] = {}
        for place, text in enumerate(self.texts):
            self.unique[text] = -1 if text in self.unique else place
        self.unique = {text: place for text, place in self.unique.items() if text and place >= 0}

    @cached_property
    def answers(self) -> Mapping[bool, int]:
        """Places of yes (True) and no (False), where there are both."""
        found = {text in YES: place for text, place in self.unique.items() if text in YES or text in NO}
        return found if len(found) == 2 else {}

    @cached_property
    def equal(self) -> Mapping[str, int]:
        """Places by the words that mean the same as one option."""
        found: dict[str, int] = {}
        for words in EQUAL:
            places = [place for text, place in self.unique.items() if text in words]
            found |= dict.fromkeys(words, places[0]) if len(places) == 1 else {}
        return found

    @cached_property
    def values(self) -> tuple[float | None, ...]:
        """Of the options that are numbers, of which no other has the same; empty where none is one."""
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
    def small(self) -> bool:
        """Whether a value may be written as words."""
        return any(value is not None and value >= 0 and value == int(value) for value in self.values)

    @cached_property
    def compact(self) -> Mapping[str, int]:
        """Places by the texts without blanks, of formulas and names of points: `2:3`, `6a-3b`, `PQ`."""
        found: dict[str, int] = {}
        for text, place in self.unique.items():
            key = tight(text)
            if not key.isalpha() or len(key) == len(text.split()):
                found[key] = -1 if key in found else place
        return {key: place for key, place in found.items() if place >= 0}

    @cached_property
    def shared(self) -> tuple[Mapping[str, int], str]:
        """Of options that differ in their first letter (`A is darker`) places by it, and the last word."""
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
    """Half a unit of the last decimal, where there are two or more; else what arithmetic leaves."""
    decimals = len(f"{known:.10f}".rstrip("0").partition(".")[2])
    return 0.5 * 10.0**-decimals if 2 <= decimals < 10 else 1e-6


def compared(text: str) -> str:
    """Undressed, in lower case, with single spaces and no punctuation around it."""
    return trimmed(" ".join(undressed(text).lower().split()))


@lru_cache(maxsize=4096)
def known(choices: Choices) -> Known:
    """The options as they are looked for."""
    return Known(choices)


def without_article(text: str) -> str:
    """The text without an article at its beginning."""
    article = ARTICLE.match(text)
    return text[article.end() :] if article else text


@lru_cache
def _marks(marks: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Rules for any large letter by itself, small ones of options that are closed, and other marks."""
    letters = "".join(mark.lower() for mark in marks if len(mark) == 1 and mark.isascii() and mark.isalpha())
    others = "|".join(re.escape(mark) for mark in marks if mark.strip() and mark.lower() not in letters)
    rules = [rf"[A-Z](?![{LATIN}/]|'[a-z])(?<![{LATIN}/-].)(?<![A-Za-z]'.)"] if letters else []
    rules += (
        [rf"[{letters}](?=[ \t]{{0,3}}(?:$|\n)|[)\].,;:])(?<![{LATIN}/-].)(?<![A-Za-z]'.)"] if letters else []
    )
    rules += [rf"(?<![{LATIN}.-])(?:{others})(?![{LATIN}]|[.,]\d)"] if others else []
    return tuple(re.compile(rule) for rule in rules)


_MARKED_CLOSED = re.compile(
    r"[ \t]{0,3}(?:$|\n)|[)\].,;:!?}\"'」』>。、，*⺀-鿿가-힣]"
    rf"|[ \t]{{1,3}}(?:\(|-\s|{any_of([*phrases('explains'), *phrases('but')])}"
    rf"|(?:{either(phrases('join'))}|&)\s{{1,2}}[(*\"']?[B-J](?![\w']))"
)
_APART = re.compile(r"[ \t)\].:,;*–—\"'」(\-]{0,8}(?:\n[ \t]{0,4})?")
_GOES_ON = re.compile(r"[ \t]\w")
_UNITS = frozenset("ABCFGHJKLMNPSTVW")
"""Letters that stand for a unit as well: ampere, coulomb, farad."""
_QUANTITY = re.compile(r"(?:\A|[^\w.,])(?:(\w{1,20})[ \t])?(\d{1,9}(?:[.,]\d{1,9})?) \Z")
_COUNTED = frozenset(phrases("bound", "noun", "named", "step"))
_QUOTES = ('"', "'", "“", "”")


def marked(said: str, low: str, known: Known) -> list[Span]:
    """All marks of a text that stand by themselves, with the texts that follow them."""
    found = []
    end = 0
    matches = [match for rule in known.marks for match in rule.finditer(said)]
    if len(known.marks) > 1:
        matches.sort(key=lambda match: match.start())
    for match in matches:
        start, after = match.span()
        form = _form(said, start, after, known) if start >= end else None
        if form is None:
            continue
        place = known.places.get(low[start:after])
        span = Span(() if place is None else (place,), start, after, form, marked=True)
        _follow(low, known, span)
        found.append(span)
        end = span.end
    return found


def _form(said: str, start: int, end: int, known: Known) -> str | None:
    """None for a letter that is no mark: of a word, of no option, or of a function as in f(A)."""
    letter, before, behind = said[start:end], said[start - 1 : start], said[end : end + 1]
    quoted = before in _QUOTES and said[end : end + 2].strip(".,")[:1] in _QUOTES
    opened = (before == "*" and behind in (".", "*")) or (before in ("(", "[", "「") and behind in (".", ":"))
    bracketed = quoted or opened or behind in (")", "]", "」")
    closed = bracketed or _MARKED_CLOSED.match(said, end) is not None
    if not closed and (letter.lower() not in known.places or not letter.isupper() or letter in "AI"):
        return None
    if before == "(" and said[start - 2 : start - 1].isalpha() and not said[start - 3 : start - 2].isalpha():
        return None
    if before == " " and letter in _UNITS and _measures(said, start, behind):
        return None
    # A small letter is a mark by what stands around it alone: not `lipoprotein (a)`.
    small = letter.islower() and letter not in known.shown
    return BRACKETED if bracketed and not small else CLOSED if closed else BARE


def _measures(said: str, start: int, behind: str) -> bool:
    """Whether a letter is the unit of the number before it: `4,5 A`, not `Question 3 B` or `2 B)`."""
    found = _QUANTITY.search(said[max(0, start - 40) : start])
    if found is None or (found[1] or "").lower() in _COUNTED:
        return False
    line = said.rfind("\n", 0, start) + 1
    if behind == ")" and said.rfind("(", line, start) <= said.rfind(")", line, start):
        return False
    # A small whole number at the beginning of a line counts lines.
    return not found[2].isdigit() or said[line:start].strip() != found[2]


def _follow(low: str, known: Known, span: Span) -> None:
    """What stands after a mark: the text of its option, of another one, or something else."""
    apart = _APART.match(low, span.end)
    assert apart is not None
    own = known.texts[span.places[0]] if span.places else ""
    at = apart.end()
    article = ARTICLE.match(low, at)
    starts = (at, article.end()) if article else (at,)
    for start in starts:
        if own and low.startswith(own, start) and whole(low, start, start + len(own)):
            span.end, span.own = start + len(own), True
            return
    if at == span.end or span.form == BARE or any(char in apart.group() for char in "\n,;"):
        return
    if known.numeric and _follow_value(low, known, span, at):
        return
    alike = _alike(own, low[at : at + len(own)])
    others = [
        (len(text), start, place)
        for start in starts
        for place, text in enumerate(known.texts)
        if len(text) > alike and low.startswith(text, start) and whole(low, start, start + len(text))
        # Where options are letters, `a square` begins with an article.
        if len(text) > 1 or not _GOES_ON.match(low, start + 1)
    ]
    if others:
        length, start, place = max(others)
        span.end = start + length
        # `A: no` is `Answer: no` in many transcripts.
        if span.places and low[max(0, span.start - 1) : span.start + 2] != "a:":
            span.clash = (place,)
        else:
            span.places = (place,)


def _follow_value(low: str, known: Known, span: Span, at: int) -> bool:
    """Whether a value follows; that of another option contradicts the mark."""
    written = expression(low, at)
    other = known.valued(written[2]) if written else None
    if written and span.places and other is not None and other not in span.places:
        span.end, span.clash = written[1], (other,)
    return written is not None


def _alike(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (first, second) in pairs if first != second), min(len(one), len(other)))


_GAP = re.compile(
    r"[\s\"'()\[\].,;:*、「」&/-]{0,8}"
    rf"(?:{either(phrases('join'))}[\s\"'(\[*]{{0,6}})?(?:{either(phrases('gap'))}\s){{0,2}}[\"'(\[*「]{{0,3}}"
)


class Group:
    """Spans said in one breath: `B. a dog`, `a dog (B)`, `A and C`. places: of all options that they name."""

    __slots__ = ("end", "form", "marked", "places", "span", "start")

    def __init__(self, span: Span) -> None:
        self.start, self.form = span.start, span.form
        self.places: tuple[int, ...] = ()
        self.marked = False
        self.add(span)

    def add(self, span: Span) -> None:
        """What is said on. span: the latest."""
        self.span, self.end = span, span.end
        self.marked |= span.marked
        if not {*span.places, *span.clash} <= {*self.places}:
            self.places = tuple(dict.fromkeys((*self.places, *span.places, *span.clash)))


def groups(said: str, low: str, known: Known) -> list[Group]:
    """All places of a text that name options, in its order. low: the text in lower case, as long as it."""
    marks = marked(said, low, known)
    taken = [(span.start, span.end) for span in marks if span.end > span.start + 1]
    texts = [span for span in _texts(said, low, known) if not _inside(span, taken)]
    around = [(span.start, span.end) for span in texts if span.form == TEXT]
    marks = [span for span in marks if span.form == BRACKETED or span.own or not _inside(span, around)]
    found: list[Group] = []
    for span in sorted(marks + texts, key=lambda span: (span.start, -span.end)):
        if found and span.start < found[-1].end:
            continue
        gap = said[found[-1].end : span.start] if found else ""
        if found and _together(gap, found[-1], span) and not _denied_alone(said, gap, span):
            found[-1].add(span)
        else:
            found.append(Group(span))
    return found


def _inside(span: Span, others: list[tuple[int, int]]) -> bool:
    """others: starts and ends that do not overlap, in their order."""
    at = bisect_right(others, (span.start, len(others) and others[-1][1])) - 1
    return at >= 0 and span.end <= others[at][1]


def _together(gap: str, before: Group, span: Span) -> bool:
    if len(gap) > 40 or "\n" in gap or not _GAP.fullmatch(gap):
        return False
    if set(span.places) <= set(before.places) or JOINS.search(gap):
        return True
    return before.span.marked != span.marked and (not gap.strip() or "(" in gap)


def _denied_alone(said: str, gap: str, span: Span) -> bool:
    """Whether what stands behind denies the latter of two options alone: `选C，B不正确`."""
    denied = DENIED.match(said, span.end) if gap.strip() in (",", "、") else None
    return denied is not None and denied.group()[-1] >= SCRIPT


def _texts(said: str, low: str, known: Known) -> list[Span]:
    found, yes_no = _values(said, known) if known.numeric else [], known.answers.values()
    for text, place in known.unique.items():
        if (len(text) == 1 and text.isascii()) or (known.numeric and known.values[place] is not None):
            continue
        start = low.find(text)
        while start >= 0:
            end = start + len(text)
            denies_nothing = place in yes_no and AFFIRMING.match(low, start)
            if whole(low, start, end) and not denies_nothing:
                found.append(Span((place,), start, end, TEXT))
            start = low.find(text, end)
    subjects, predicate = known.shared
    if predicate and known.marks:
        found += _predicates(said, low, known.marks[0], subjects, predicate)
    found.sort(key=lambda span: (span.start, -span.end))
    kept: list[Span] = []
    for span in found:
        if not kept or span.end > kept[-1].end:
            kept.append(span)
    return kept


def _predicates(
    said: str, low: str, marks: re.Pattern[str], places: Mapping[str, int], predicate: str
) -> list[Span]:
    """`Point A, on the left, seems to be closer` for the option `A is closer`: no other subject before."""
    found = []
    at = low.find(predicate)
    while at >= 0:
        begin = max(said.rfind(".", 0, at), said.rfind("\n", 0, at), at - 200) + 1
        subjects = list(marks.finditer(said, max(begin, 0), at))
        letters = {m.group().lower() for m in subjects}
        end = at + len(predicate)
        if len(letters) == 1 and letters <= places.keys() and whole(low, at, end):
            found.append(Span((places[letters.pop()],), subjects[0].start(), end, TEXT))
        at = low.find(predicate, end)
    return found


def _values(said: str, known: Known) -> list[Span]:
    found = []
    for start, end, value in expressions(said):
        place = known.valued(value)
        if place is not None:
            found.append(Span((place,), start, end, VALUE))
    if known.small:
        for match in WORD_NUMBER.finditer(said):
            written = spelled(match.group())
            place = None if written is None else known.valued(written)
            if place is not None:
                found.append(Span((place,), *match.span(), VALUE))
    return found
