"""The rules that weigh what a text says for and against its options."""

import re

from vouch.metrics.text.parsers.marks import DECLINED, NONE, OPTION, SEVERAL, Reading
from vouch.metrics.text.parsers.reader.context import CHOOSE, LINK, START, Context, Text
from vouch.metrics.text.parsers.reader.cues import (
    OTHERS,
    SCRIPT,
    any_of,
    lacks,
    names_answer,
    none_of,
    phrases,
)
from vouch.metrics.text.parsers.reader.options import Known
from vouch.metrics.text.parsers.reader.span import BARE, BRACKETED, CLOSED, TEXT, VALUE
from vouch.metrics.text.parsers.reader.spans import Group, groups
from vouch.metrics.text.parsers.reader.statements import answered, paraphrased

STATEMENT, LINE, OPENING, CONCLUSION, COMPARISON = "statement", "line", "opening", "conclusion", "comparison"
MENTION, CONDITION, AGAINST, LISTED, NOISE = "mention", "condition", "against", "enumeration", "noise"
EXPLICIT = (STATEMENT, LINE, "boxed mark", "boxed text", "boxed value")
"""Kinds of readings to which the others give way."""
_OPERATOR = re.compile(rf"\s?(?:[-+*/×=÷<>≈^(]|{any_of(phrases('part'))})")
_NEITHER = re.compile(rf"{any_of(phrases('neither'))}[^.\n]{{1,60}}{any_of(phrases('nor'))}")
_CALCULATION = re.compile(r"[-+*/×÷^]\s?$")
_DIGIT = re.compile(r"\d")
_LEADS = (":", *(one if one >= SCRIPT else f" {one}" for one in phrases("leads")))


class Weighed:
    """The evidence of one text, each piece weighed when it is needed."""

    def __init__(self, text: Text, known: Known, found: list[Group]) -> None:
        self.text, self.known = text, known
        self.found = [Context(text, group) for group in found]
        self.listed = _runs(self.found, len(known.texts))
        self._kinds: dict[int, str] = {}

    def kind(self, index: int) -> str:
        """What the piece is worth."""
        if index not in self._kinds:
            self._kinds[index] = self._weighed(index)
        return self._kinds[index]

    def of(self, kind: str) -> list[Context]:
        """All pieces of this kind, in their order."""
        return [it for index, it in enumerate(self.found) if self.kind(index) == kind]

    def _weighed(self, index: int) -> str:
        it, group = self.found[index], self.found[index].group
        if it.boxed:
            return STATEMENT
        if it.denied:
            return AGAINST
        if it.conditional:
            return CONDITION
        yes_no = not group.marked and group.places[0] in self.known.answers.values()
        affirmed = it.affirmed and not yes_no and not self._qualified(it, self.listed[index])
        if (
            it.offered
            or (self.listed[index] and not affirmed)
            or len(group.places) >= len(self.known.texts) > 2
        ):
            return LISTED
        if not group.places and not ((it.noun and it.left == LINK and it.ends) or (it.head and it.alone)):
            return NOISE
        if it.left == LINK and index and _explains(self.found[index - 1], it):
            return NOISE
        if it.declined:
            return AGAINST
        kind = (self._at_head if it.head else self._inside)(it, yes_no, affirmed)
        if kind == STATEMENT and index and self._begun(it):
            return NOISE
        if kind == MENTION:
            return CONCLUSION if it.conceded else COMPARISON if it.best else kind
        return kind

    def _qualified(self, it: Context, listed: bool) -> bool:
        """Whether an option is only said to suit something: of a list, or below `The others are wrong:`."""
        return (listed and it.suits) or any(at < it.group.start for at in self.text.others)

    def _begun(self, it: Context) -> bool:
        """Whether the text begins, in this line, with a mark of unknown text: `E. C and D are correct`."""
        first = self.found[0]
        opens = first.first and first.line == it.line and first.group.marked and first.group.form != BARE
        return opens and not any(self.known.texts[place] for place in first.group.places)

    def _at_head(self, it: Context, yes_no: bool, affirmed: bool) -> str:
        """Of what begins a line."""
        group = it.group
        if yes_no and it.closed == group.end < len(self.text.said):
            return NOISE
        if it.lead.endswith(_LEADS) and (group.marked or it.alone):
            if not names_answer(it.lead):
                return CONCLUSION
            return AGAINST if OTHERS.search(it.lead) else STATEMENT
        if (it.left == LINK and it.noun) or affirmed:
            return STATEMENT
        whole = (
            it.alone
            or yes_no
            or (group.marked and group.form != BARE)
            or (group.form == TEXT and it.closed >= it.end)
        )
        if it.first and whole:
            return OPENING
        if it.alone and (group.marked or yes_no):
            return LINE
        if yes_no or group.form == BARE or (group.form == VALUE and not it.alone and not self._result(it)):
            return NOISE
        return MENTION

    def _inside(self, it: Context, yes_no: bool, affirmed: bool) -> str:
        """Of what stands within a line."""
        group = it.group
        counted = group.form != VALUE or group.marked or self._result(it)
        # A bare letter says little, but for `option B` and `... is B.`
        bare = group.form in (BARE, CLOSED) and not group.span.own
        if affirmed or (
            it.left == LINK and it.noun and (counted or not _OPERATOR.match(self.text.said, group.end))
        ):
            return STATEMENT
        if it.left == CHOOSE and group.form != VALUE:
            return STATEMENT if group.marked else CONCLUSION
        if it.left == START and group.marked and it.ends:
            return OPENING if it.begin == 0 else LINE
        if yes_no:
            return NOISE
        if it.left == LINK and counted and ((group.marked and (not bare or it.told)) or it.concludes):
            return CONCLUSION
        if not counted or (bare and not (it.called or (it.left == LINK and it.ends))):
            return NOISE
        return MENTION

    def _result(self, it: Context) -> bool:
        """Whether a value ends its sentence's numbers, is no part of a calculation, and not amid the text."""
        said, group = self.text.said, it.group
        if _OPERATOR.match(said, group.end) or _CALCULATION.search(
            said, max(0, group.start - 3), group.start
        ):
            return False
        starts = self.text.starts
        return not _DIGIT.search(said, group.end, it.end) and (
            it.end >= len(said) or len(starts) <= 3 or it.begin >= starts[-2]
        )


def _explains(last: Context, it: Context) -> bool:
    """Whether a colon stands before, and before that another option in the same sentence."""
    between = it.text.said[max(last.group.end, it.group.start - 6) : it.group.start]
    other = len(last.group.places) == 1 and last.group.places != it.group.places
    return last.begin == it.begin and other and ":" in between


def _runs(found: list[Context], options: int) -> list[bool]:
    """Whether each piece belongs to an enumeration: lines that begin with one option after another, or marks
    in brackets from the first on in one line."""
    listed = [False] * len(found)
    for follows, least in ((_next_line, 2), (_next_in_line, min(3, options))):
        runs: list[list[int]] = [[]]
        for index, it in enumerate(found):
            if not it.group.places or (it.head != (follows is _next_line) and not (it.head and not runs[-1])):
                continue
            if runs[-1] and not follows(found[runs[-1][-1]], it):
                runs.append([])
            if runs[-1] or follows is _next_line or (it.group.places[0] == 0 and it.group.form == BRACKETED):
                runs[-1].append(index)
        for run in runs:
            if len({found[index].group.places for index in run}) >= least:
                for index in run:
                    listed[index] = True
    return listed


def _next_line(last: Context, it: Context) -> bool:
    between = it.text.said[last.group.end : it.group.start].split("\n")[1:-1]
    lines = sum(1 for line in between if line.strip())
    if lines > 2 or (lines and it.lead.endswith(":")):
        return False
    step = it.group.places[0] - last.group.places[0]
    return step == 1 or (step >= 0 and not lines)


def _next_in_line(last: Context, it: Context) -> bool:
    near = "\n" not in it.text.said[last.group.end : it.group.start]
    return near and it.group.form == BRACKETED and it.group.places[0] == last.group.places[0] + 1


def weigh(said: str, low: str, known: Known, question: str = "") -> Reading:
    """What the text commits itself to; where it names no option, what its words come to."""
    text = Text(said, low)
    reading = _decided(Weighed(text, known, groups(said, low, known)))
    if reading.verdict != NONE or reading.kind:
        return reading
    if stated := answered(low, known, question):
        return stated
    found = paraphrased(low, known)
    return _decided(Weighed(text, known, found)) if found else reading


def _decided(weighed: Weighed) -> Reading:
    """An explicit statement outranks all else, the last one of several; then a line of its own, the opening,
    and a conclusion or comparison that declining words do not follow. Mentions count where none declines."""
    for index in range(len(weighed.found) - 1, -1, -1):
        if weighed.kind(index) == STATEMENT:
            return _named(weighed.found[index], STATEMENT)
    for kind, which in ((LINE, -1), (OPENING, 0)):
        if pieces := weighed.of(kind):
            return _named(pieces[which], kind)
    text, options = weighed.text, weighed.known.texts
    for kind in (CONCLUSION, COMPARISON):
        if pieces := weighed.of(kind):
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
    reading = _mentioned(weighed)
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
    kind = "decline" if verdict == DECLINED else "none of them"
    return Reading(verdict, (), kind, " ".join(text.said[slice(*span)].split()))
