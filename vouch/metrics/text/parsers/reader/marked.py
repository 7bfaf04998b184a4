"""Options named by their marks: `B`, `(b)`, `**B.** a dog`."""

import re

from vouch.metrics.text.numbers import expression
from vouch.metrics.text.parsers.reader.cues import any_of, either, phrases
from vouch.metrics.text.parsers.reader.options import ARTICLE, Known
from vouch.metrics.text.parsers.reader.span import BARE, BRACKETED, CLOSED, Span, whole

_CLOSED = re.compile(
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
    closed = bracketed or _CLOSED.match(said, end) is not None
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
