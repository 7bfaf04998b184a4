"""What each piece of evidence in a text is worth, for or against its options."""

import re

from vouch.metrics.text.numbers import FORMULA, boxed, number
from vouch.metrics.text.parsers.reader.before import CHOOSE, LINK, NOT, START
from vouch.metrics.text.parsers.reader.context import Context, Text
from vouch.metrics.text.parsers.reader.cues import (
    AFFIRMING,
    OTHERS,
    SCRIPT,
    any_of,
    names_answer,
    phrases,
)
from vouch.metrics.text.parsers.reader.options import Known
from vouch.metrics.text.parsers.reader.span import BARE, BRACKETED, CLOSED, TEXT, VALUE
from vouch.metrics.text.parsers.reader.spans import Group

STATEMENT, LINE, OPENING, CONCLUSION, COMPARISON = "statement", "line", "opening", "conclusion", "comparison"
MENTION, CONDITION, AGAINST, LISTED, NOISE = "mention", "condition", "against", "enumeration", "noise"
_OPERATOR = re.compile(rf"\s?(?:[-+*/×=÷<>≈^(]|{any_of(phrases('part'))})")
_CALCULATION = re.compile(r"[-+*/×÷^]\s?$")
_CORRECTIONS = 8  # in a row that are followed
_STOP = re.compile(r"[.;!?]")
_DIGIT = re.compile(r"\d")
_LEADS = (":", *(one if one >= SCRIPT else f" {one}" for one in phrases("leads")))


class Weighed:
    """The evidence of one text, each piece weighed when it is needed. unfit: its last box holds a number or
    a formula that is no option."""

    def __init__(self, text: Text, known: Known, found: list[Group]) -> None:
        self.text, self.known = text, known
        self.found = [Context(text, group) for group in found]
        self.unfit = text.boxes and _unfit(boxed(text.said), known)
        self.listed = _runs(self.found, len(known.texts))
        self._kinds: dict[int, str] = {}

    def kind(self, index: int) -> str:
        """What the piece is worth."""
        if index not in self._kinds:
            kind = self._weighed(index)
            corrected = kind not in (STATEMENT, AGAINST) and self._corrects(index)
            self._kinds[index] = STATEMENT if corrected else kind
        return self._kinds[index]

    def _corrects(self, index: int) -> bool:
        """Whether the piece takes the place of an answer before it, or of what took its place."""
        for at in range(index, max(0, index - _CORRECTIONS), -1):
            it, last = self.found[at], self.found[at - 1]
            if it.group.places == last.group.places or not it.corrects:
                return False
            if self._weighed(at - 1) in (STATEMENT, LINE, OPENING):
                return True
        return False

    def of(self, kind: str) -> list[Context]:
        """All pieces of this kind, in their order."""
        return [it for index, it in enumerate(self.found) if self.kind(index) == kind]

    def _weighed(self, index: int) -> str:
        it, group = self.found[index], self.found[index].group
        if it.boxed:
            return NOISE if self.unfit and not group.marked else STATEMENT
        last = self.found[index - 1] if index else None
        next_ = self.found[index + 1] if index + 1 < len(self.found) else None
        asked = it.text.asks_denial and it.untrue
        denied = it.true or it.denied
        if it.left == NOT or (denied and not asked and not (next_ and it.denies(next_))):
            return AGAINST
        if last and it.turns(last):
            return STATEMENT if last.noun or it.noun else CONCLUSION
        if it.conditional:
            return CONDITION
        if asked:
            return CONCLUSION if len({one.group.places for one in self.found if one.untrue}) == 1 else AGAINST
        yes_no = not group.marked and group.places[0] in self.known.answers.values()
        if yes_no and AFFIRMING.match(self.text.low, group.start):
            return NOISE
        affirmed = it.affirmed and not yes_no and not self._qualified(it, self.listed[index])
        if (
            it.offered
            or (self.listed[index] and not affirmed)
            or len(group.places) >= len(self.known.texts) > 2
        ):
            return LISTED
        if not group.places and not ((it.noun and it.left == LINK and it.ends) or (it.head and it.alone)):
            return NOISE
        if it.left == LINK and last and _explains(last, it):
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


def _unfit(box: str, known: Known) -> bool:
    value = number(box)
    if value is not None:
        return bool(known.values) and known.valued(value) is None
    return bool(known.values) and FORMULA.search(box) is not None


def _explains(last: Context, it: Context) -> bool:
    """Whether a colon stands before, and before that another option in the same sentence; but not in `No cat:
    a dog` or `A. Final answer: B`."""
    if last.begin != it.begin or last.denied or last.group.places == it.group.places:
        return False
    between = it.text.low[last.group.end : it.group.start]
    answers = names_answer(_STOP.split(between, maxsplit=1)[-1]) if _STOP.search(between) else False
    return len(last.group.places) == 1 and ":" in between[-6:] and not answers


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
