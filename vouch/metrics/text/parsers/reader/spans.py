"""Where a text names options: by their marks, their texts or their values, and what belongs together."""

import re
from bisect import bisect_right
from collections.abc import Mapping

from vouch.metrics.text.numbers import WORD_NUMBER, expressions, spelled
from vouch.metrics.text.parsers.reader.cues import DENIED, JOINS, SCRIPT, either, phrases
from vouch.metrics.text.parsers.reader.marked import marked
from vouch.metrics.text.parsers.reader.options import Known
from vouch.metrics.text.parsers.reader.span import BRACKETED, TEXT, VALUE, Span, whole

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
    found = _values(said, known) if known.numeric else []
    for text, place in known.unique.items():
        if (len(text) == 1 and text.isascii()) or (known.numeric and known.values[place] is not None):
            continue
        start = low.find(text)
        while start >= 0:
            end = start + len(text)
            if whole(low, start, end):
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
