"""The rules that decide between the pieces of evidence in a text."""

import re

from vouch.metrics.text.parsers.marks import DECLINED, NONE, OPTION, SEVERAL, Reading
from vouch.metrics.text.parsers.reader.before import LINK
from vouch.metrics.text.parsers.reader.context import Context, Text
from vouch.metrics.text.parsers.reader.cues import any_of, lacks, none_of, phrases
from vouch.metrics.text.parsers.reader.options import Known
from vouch.metrics.text.parsers.reader.span import VALUE
from vouch.metrics.text.parsers.reader.spans import groups
from vouch.metrics.text.parsers.reader.statements import answered, paraphrased
from vouch.metrics.text.parsers.reader.weigh import (
    COMPARISON,
    CONCLUSION,
    CONDITION,
    LINE,
    MENTION,
    OPENING,
    STATEMENT,
    Weighed,
)

EXPLICIT = (STATEMENT, LINE, "boxed mark", "boxed text", "boxed value")
"""Kinds of readings to which the others give way."""
PASSING = ("only mention", "last conclusion", "first mention", CONDITION)
"""Kinds that may name an option in passing."""
NONE_OF_THEM = "none of them"
_NEITHER = re.compile(rf"{any_of(phrases('neither'))}[^.\n]{{1,60}}{any_of(phrases('nor'))}")


def decide(said: str, low: str, known: Known, question: str = "") -> Reading:
    """What the text commits itself to; where it names no option, what its words come to."""
    text = Text(said, low, question)
    reading = _decided(Weighed(text, known, groups(said, low, known)))
    silent = reading.verdict == NONE and reading.kind in ("", NONE_OF_THEM)
    if silent and (stated := answered(low, known, question)):
        return stated
    if reading.verdict != NONE or reading.kind:
        return reading
    found = paraphrased(low, known)
    return _decided(Weighed(text, known, found)) if found else reading


def _decided(weighed: Weighed) -> Reading:
    """An explicit statement outranks all else, the last one of several; then a line of its own, the opening,
    and a conclusion or comparison that declining words do not follow. Mentions count where none declines, and
    no box holds a number that is no option."""
    for index in range(len(weighed.found) - 1, -1, -1):
        if weighed.kind(index) == STATEMENT:
            return _named(weighed.found[index], STATEMENT)
    for kind, which in ((LINE, -1), (OPENING, 0)):
        if pieces := weighed.of(kind):
            return _named(pieces[which], kind)
    text, options = weighed.text, weighed.known.texts
    for kind in (CONCLUSION, COMPARISON):
        if pieces := [it for it in weighed.of(kind) if it.group.marked or not weighed.unfit]:
            clear = pieces[-1].group.form != VALUE and len({it.group.places for it in pieces}) == 1
            if clear or not text.declines or text.declines[-1][0] < pieces[-1].group.start:
                return _named(pieces[-1], kind)
    if text.declines:
        said = text.low[slice(*text.declines[-1])]
        same = [place for place, option in enumerate(options) if said in option]
        if len(same) == 1:  # `It cannot be determined` may be an option
            return Reading(OPTION, (same[0],), "declining option", said)
        return _without(text, text.declines[-1], DECLINED)
    if len(options) == 2 and (neither := _NEITHER.search(text.low)):
        return _without(text, neither.span(), NONE)
    if none := none_of(text.low, text.words):
        return _without(text, none[-1], NONE)
    reading = Reading(NONE, (), "", "") if weighed.unfit else _mentioned(weighed)
    missing = lacks(text.low, text.words) if reading.verdict == NONE else []
    return _without(text, missing[-1], DECLINED) if missing else reading


def _mentioned(weighed: Weighed) -> Reading:
    """The only option mentioned; else the only one of the first sentence or the last one. What is said amid a
    text that weighs several options is as often as not the wrong one."""
    pieces = weighed.of(MENTION)
    pieces = [it for it in pieces if not it.explains] or pieces
    if len({it.group.places for it in pieces}) == 1:
        return _named(pieces[0], "only mention")
    end = len(weighed.text.said.rstrip())
    concluding = [it for it in pieces if it.concludes][-1:]
    for name, chosen in (("last conclusion", concluding), ("first mention", pieces[:1])):
        for it in chosen:
            same = [other for other in pieces if other.begin == it.begin]
            linked = [other for other in same if other.left == LINK]
            decisive = same if len(_places(same)) == 1 else linked if len(linked) == 1 else []
            if decisive and len(decisive[0].group.places) == 1 and (it.begin == 0 or it.end >= end):
                return _named(decisive[0], name)
    said = weighed.text.said
    supposed = [it for it in weighed.of(CONDITION) if "," in said[it.begin : it.group.start]]
    if len(_places(supposed)) == 1 and not supposed[0].noun:
        return _named(supposed[0], CONDITION)
    return Reading(NONE, (), "", "")


def _places(pieces: list[Context]) -> set[int]:
    return {place for it in pieces for place in it.group.places}


def _named(it: Context, kind: str) -> Reading:
    places = tuple(sorted(it.group.places))
    span = it.text.said[max(it.begin, it.group.start - 60) : it.group.end + 1].strip()
    verdict = OPTION if len(places) == 1 else SEVERAL if places else NONE
    return Reading(verdict, places, kind, " ".join(span.split()))


def _without(text: Text, span: tuple[int, int], verdict: str) -> Reading:
    kind = "decline" if verdict == DECLINED else NONE_OF_THEM
    return Reading(verdict, (), kind, " ".join(text.said[slice(*span)].split()))
