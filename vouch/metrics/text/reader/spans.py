"""Where a text names options: by letter (`B`, `(b)`, `**B.** a dog`), by text or by value.

`groups` is the entry: it finds all mentions and joins those that belong together, such as `B. a dog`.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from vouch.metrics.text.numbers import WORD_NUMBER, expression, expressions, spelled
from vouch.metrics.text.reader import cues
from vouch.metrics.text.reader.options import ARTICLE, Known

_POINTS = (".", ",", "^")
BARE, CLOSED, BRACKETED, TEXT, VALUE = "bare mark", "mark", "bracketed mark", "text", "value"


@dataclass(slots=True)
class Span:
    """places: of the options named, none for a mark that no option has. marked: by a mark. own: its option's
    text follows its mark. clash: the option whose text follows another one's mark. counted: called by number
    or position."""

    places: tuple[int, ...]
    start: int
    end: int
    form: str
    marked: bool = False
    own: bool = False
    clash: tuple[int, ...] = ()
    counted: bool = False


def whole(low: str, start: int, end: int) -> bool:
    """Whether these characters are not inside a longer word, number or formula."""
    if _goes_on(low[start - 1 : start], low[start]) or _goes_on(low[end : end + 1], low[end - 1]):
        return False
    if low[start].isdigit() and start and low[start - 1] in _POINTS:
        return low[start - 1] == "," and not low[start - 2 : start - 1].isdigit()
    return not (low[end - 1].isdigit() and low[end : end + 1] in _POINTS and low[end + 1 : end + 2].isdigit())


def _goes_on(beyond: str, edge: str) -> bool:
    return beyond.isalnum() and beyond < cues.SCRIPT and edge.isalnum() and edge < cues.SCRIPT


_MARKED_CLOSED = re.compile(
    rf"[ \t]{{0,3}}(?:$|\n|\||{cues.piece(*cues.SIGNS)})|[)\].,;:!?}}\"'」』>。、，*⺀-鿿가-힣]"
    rf"|[ \t]{{1,3}}(?:\(|-\s|{cues.word('explains', 'but')}"
    rf"|(?:{cues.piece('join')}|&)\s{{1,2}}[(*\"']?[B-J](?![\w']))"
)
_APART = re.compile(r"[ \t)\].:,;*–—\"'」(\-]{0,8}(?:\n[ \t]{0,4})?")
_GOES_ON = re.compile(r"[ \t]\w")
_UNITS = frozenset("ABCFGHJKLMNPSTVW")
"""Letters that are also units: ampere, coulomb, farad."""
_QUANTITY = re.compile(r"(?:\A|[^\w.,])(?:(\w{1,20})[ \t])?(\d{1,9}(?:[.,]\d{1,9})?) \Z")
_COUNTED = frozenset(cues.phrases("bound", "noun", "named", "step"))
_QUOTES = ('"', "'", "“", "”")


def marked(said: str, low: str, known: Known) -> list[Span]:
    """All marks in a text that are not part of something else, with the texts that follow them."""
    found = []
    end = 0
    matches = [match for rule in known.labels for match in rule.finditer(said)]
    if len(known.labels) > 1:
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


_POSITIONS = cues.any_of(cues.POSITIONS)
_NUMBER_BEHIND = re.compile(rf"\s{{0,2}}(?:#?([1-9])(?![\w%°]|[.,:/-]\d)|(?<=\s)({_POSITIONS}))")
_POSITION_BEFORE = re.compile(rf"({_POSITIONS})\s{{0,2}}$")
_REACH = 20


def _counted(low: str, known: Known) -> list[Span]:
    """Options called by number or position: `option 2`, `the second option`."""
    spans: list[Span] = []
    for start, end in cues.counted(low):
        if not whole(low, start, end):
            continue
        if before := _POSITION_BEFORE.search(low, max(0, start - _REACH), start):
            place, start = cues.POSITIONS[before[1]], before.start()
        elif behind := _NUMBER_BEHIND.match(low, end):
            place = int(behind[1]) - 1 if behind[1] else cues.POSITIONS[behind[2]]
            end = behind.end()
        else:
            continue
        if place < len(known.texts):
            spans.append(Span((place,), start, end, BRACKETED, marked=True, counted=True))
            _follow(low, known, spans[-1])
    return spans


def _form(said: str, start: int, end: int, known: Known) -> str | None:
    """The form of a mark; None for a letter of a word, of no option, or of a function as in f(A)."""
    letter, before, behind = said[start:end], said[start - 1 : start], said[end : end + 1]
    quoted = before in _QUOTES and said[end : end + 2].strip(".,")[:1] in _QUOTES
    opened = (before == "*" and behind in (".", "*")) or (before in ("(", "[", "「") and behind in (".", ":"))
    bracketed = quoted or opened or behind in (")", "]", "」")
    closed = bracketed or _MARKED_CLOSED.match(said, end) is not None
    if not closed and (letter.lower() not in known.places or not letter.isupper() or letter in "AI"):
        return None
    if before == "(" and said[start - 2 : start - 1].isalpha() and not said[start - 3 : start - 2].isalpha():
        return None
    if before == "°" or (before == " " and letter in _UNITS and _measures(said, start, behind)):
        return None
    # Only its surroundings make a small letter a mark: not `lipoprotein (a)`.
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
    """Extends a mark by the text after it: that of its option, of another one, or something else."""
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
        # If options are letters, `a square` begins with an article.
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
    rf"(?:{cues.piece('join')}[\s\"'(\[*]{{0,6}})?(?:{cues.piece('gap')}\s){{0,2}}[\"'(\[*「]{{0,3}}"
)


class Group:
    """Spans named together: `B. a dog`, `a dog (B)`, `A and C`. places: of all options that they name."""

    __slots__ = ("end", "form", "marked", "places", "span", "start")

    def __init__(self, span: Span) -> None:
        self.start, self.form = span.start, span.form
        self.places: tuple[int, ...] = ()
        self.marked = False
        self.add(span)

    def add(self, span: Span) -> None:
        """Adds the next span, the latest so far."""
        self.span, self.end = span, span.end
        self.marked |= span.marked
        if not {*span.places, *span.clash} <= {*self.places}:
            self.places = tuple(dict.fromkeys((*self.places, *span.places, *span.clash)))


def groups(said: str, low: str, known: Known) -> list[Group]:
    """All passages in a text that name options, in order. low: the text in lower case, of the same length."""
    marks = marked(said, low, known)
    if known.counted and (counted := _counted(low, known)):
        marks = sorted(marks + counted, key=lambda span: span.start)
    taken = [(span.start, span.end) for span in marks if span.end > span.start + 1]
    texts = [span for span in _texts(said, low, known) if not _inside(span, taken)]
    around = [(span.start, span.end) for span in texts if span.form == TEXT]
    marks = [span for span in marks if span.form == BRACKETED or span.own or not _inside(span, around)]
    found: list[Group] = []
    for span in sorted(marks + texts, key=lambda span: (span.start, -span.end)):
        if found and span.start < found[-1].end:
            continue
        gap = said[found[-1].end : span.start] if found else ""
        if found and _together(gap, found[-1], span) and not _denied_alone(low, gap, span):
            found[-1].add(span)
        else:
            found.append(Group(span))
    return found


def _inside(span: Span, others: list[tuple[int, int]]) -> bool:
    """Whether the span lies inside one of the others: starts and ends, in order, without overlaps."""
    at = bisect_right(others, (span.start, len(others) and others[-1][1])) - 1
    return at >= 0 and span.end <= others[at][1]


def _together(gap: str, before: Group, span: Span) -> bool:
    if len(gap) > 40 or "\n" in gap or not _GAP.fullmatch(gap):
        return False
    if set(span.places) <= set(before.places) or cues.JOINS.search(gap):
        return True
    if before.span.counted != span.counted and span.form == BRACKETED:  # `option 2 (C)`
        return "(" in gap
    return before.span.marked != span.marked and (not gap.strip() or "(" in gap)


def _denied_alone(low: str, gap: str, span: Span) -> bool:
    """Whether the words after two options deny only the second: `选C，B不正确`."""
    denied = cues.DENIED.match(low, span.end) if gap.strip() in (",", "、") else None
    return denied is not None and denied.group()[-1] >= cues.SCRIPT


def _texts(said: str, low: str, known: Known) -> list[Span]:
    found, yes_no = _values(said, known) if known.numeric else [], known.answers.values()
    for text, place in known.unique.items():
        if (len(text) == 1 and text.isascii()) or (known.numeric and known.values[place] is not None):
            continue
        start = low.find(text)
        while start >= 0:
            end = start + len(text)
            denies_nothing = place in yes_no and cues.AFFIRMING.match(low, start)
            joined = low[start - 1 : start] == "-" and low[max(0, start - 2)].isalpha()  # `non-metal`
            if whole(low, start, end) and not denies_nothing and not joined:
                found.append(Span((place,), start, end, TEXT))
            start = low.find(text, end)
    subjects, predicate = known.shared
    if predicate and known.labels:
        found += _predicates(said, low, known.labels[0], subjects, predicate)
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
