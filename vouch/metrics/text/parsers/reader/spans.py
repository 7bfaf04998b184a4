"""Where a text names options: by their marks, their texts or their values, and what belongs together."""

import os
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from vouch.metrics.text.numbers import EXPRESSION, evaluated
from vouch.metrics.text.parsers.reader.cues import JOINS, SCRIPT
from vouch.metrics.text.parsers.reader.options import ARTICLE, Known

BARE, CLOSED, BRACKETED, TEXT, VALUE = "bare mark", "mark", "bracketed mark", "text", "value"
_CLOSED = re.compile(
    r"[ \t]{0,3}(?:$|\n)|[)\].,;:!?}\"'」』>。、，*⺀-鿿가-힣]|[ \t]{1,3}(?:\(|-\s|(?:because|since|as|due|given|is|was)\b|(?:and|or|&)\s{1,2}[(*\"']?[B-J](?![\w']))"
)
_APART = re.compile(r"[ \t)\].:,;*–—\"'」(\-]{0,8}(?:\n[ \t]{0,4})?")
_GAP = re.compile(
    r"[\s\"'()\[\].,;:*、「」&/-]{0,8}(?:(?:and(?:/or)?|or|as well as|y|e|o|u|ou|和|或|与|及|と|または|や|או|와|과|또는)[\s\"'(\[*]{0,6})?"
    r"(?:(?:the|both|option|point|image|choice|picture|box|el|la)\s){0,2}[\"'(\[*「]{0,3}"
)


@dataclass(slots=True)
class Span:
    """places: of the options named, none for a mark that no option has. marked: by a mark. own: the option's text
    follows its mark. clash: option whose text follows another one's mark."""

    places: tuple[int, ...]
    start: int
    end: int
    form: str
    marked: bool = False
    own: bool = False
    clash: tuple[int, ...] = ()


class Group:
    """Spans that are said in one breath: `B. a dog`, `a dog (B)`, `A and C`. places: of all options that they name."""

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
    """All places of a text that name options, in its order. low: the text in lower case, of the same length."""
    marks = _marks(said, low, known)
    taken = [(span.start, span.end) for span in marks if span.end > span.start + 1]
    texts = [span for span in _texts(said, low, known) if not _inside(span, taken)]
    around = [(span.start, span.end) for span in texts if span.form == TEXT]
    marks = [span for span in marks if span.form == BRACKETED or span.own or not _inside(span, around)]
    found: list[Group] = []
    for span in sorted(marks + texts, key=lambda span: (span.start, -span.end)):
        if found and span.start < found[-1].end:
            continue
        if found and _together(said[found[-1].end : span.start], found[-1], span):
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


def _marks(said: str, low: str, known: Known) -> list[Span]:
    found = []
    end = 0
    matches = [match for rule in known.marks for match in rule.finditer(said)]
    if len(known.marks) > 1:
        matches.sort(key=lambda match: match.start())
    for match in matches:
        start, after = match.span()
        if start < end:
            continue
        place = known.places.get(low[start:after])
        before, following = said[start - 1 : start], said[after : after + 1]
        quoted = before in ('"', "'", "“") and said[after : after + 2].strip(".,")[:1] in ('"', "'", "”")
        bracketed = (
            quoted
            or (before == "*" and following in (".", "*"))
            or following in (")", "]", "」")
            or (before in ("(", "[", "「") and following in (".", ":"))
        )
        letter = match.group()
        closed = bracketed or _CLOSED.match(said, after) is not None
        if not closed and (place is None or not letter.isupper() or letter in "AI"):
            continue
        if (
            before == "("
            and said[start - 2 : start - 1].isalpha()
            and not said[start - 3 : start - 2].isalpha()
        ):
            continue  # f(A)
        # A small letter is a mark by what stands around it alone: not `lipoprotein (a)`.
        small = letter.islower() and letter not in known.shown
        form = CLOSED if closed and (small or not bracketed) else BRACKETED if bracketed else BARE
        span = Span(() if place is None else (place,), start, after, form, marked=True)
        _follow(low, known, span)
        found.append(span)
        end = span.end
    return found


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
    alike = len(os.path.commonprefix((own, low[at : at + len(own)])))
    if known.values:
        written = EXPRESSION.match(low, at)
        value = evaluated(written.group().rstrip(".,*/^(")) if written else None
        other = None if value is None else known.valued(value)
        if written and other is not None and (not span.places or other not in span.places):
            span.end = written.end() if span.places else span.end
            span.clash, span.places = ((other,), span.places) if span.places else ((), ())
        return
    others = [
        (len(text), start, place)
        for start in starts
        for place, text in enumerate(known.texts)
        if len(text) > alike and low.startswith(text, start) and whole(low, start, start + len(text))
    ]
    if others:
        length, start, place = max(others)
        span.end = start + length
        # `A: no` is `Answer: no` in many transcripts.
        if span.places and low[max(0, span.start - 1) : span.start + 2] != "a:":
            span.clash = (place,)
        else:
            span.places = (place,)


def whole(low: str, start: int, end: int) -> bool:
    """Whether no word goes on before or after this place."""
    before, after = low[start - 1 : start], low[end : end + 1]
    return not (
        (before.isalnum() and before < SCRIPT and low[start].isalnum() and low[start] < SCRIPT)
        or (after.isalnum() and after < SCRIPT and low[end - 1].isalnum() and low[end - 1] < SCRIPT)
    )


def _texts(said: str, low: str, known: Known) -> list[Span]:
    if known.values:
        return _values(said, low, known)
    found = []
    for text, place in known.unique.items():
        if len(text) == 1 and text.isascii():
            continue
        start = low.find(text)
        while start >= 0:
            end = start + len(text)
            if whole(low, start, end):
                found.append(Span((place,), start, end, TEXT))
            start = low.find(text, end)
    subjects, predicate = known.shared
    if predicate:
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
    """`Point A, on the left, seems to be closer` for the option `A is closer`: its subject alone stands before."""
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


def _values(said: str, low: str, known: Known) -> list[Span]:
    found = []
    for match in EXPRESSION.finditer(said):
        written = match.group().rstrip(".,*/^(")
        value = evaluated(written)
        place = None if value is None else known.valued(value)
        if place is not None:
            found.append(Span((place,), match.start(), match.start() + len(written), VALUE))
    for word, place in known.words.items():
        at = low.find(word)
        while at >= 0:
            if whole(low, at, at + len(word)):
                found.append(Span((place,), at, at + len(word), VALUE))
            at = low.find(word, at + 1)
    return found
