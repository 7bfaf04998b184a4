"""How the evidence in a text is weighed, and which option it comes down to.

`decide` is the entry: it classifies every mention of an option (a statement, a line of its own, the opening,
a conclusion, a mention, ...) and takes the strongest kind. If no option is named, it looks for answers in
other words (`restated`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import chain

from vouch.metrics.text.numbers import FORMULA, number
from vouch.metrics.text.reader import cues
from vouch.metrics.text.reader.context import CHOOSE, LINK, NOT, START, AnswerText, Context
from vouch.metrics.text.reader.lists import listed
from vouch.metrics.text.reader.options import DECLINED, NONE, OPTION, SEVERAL, Known, Reading
from vouch.metrics.text.reader.restated import ABOUT, QuestionWords, answered, paraphrased
from vouch.metrics.text.reader.spans import BARE, CLOSED, TEXT, VALUE, Group, groups
from vouch.metrics.text.wording import boxed

STATEMENT, CORRECTION, LINE, OPENING = "statement", "correction", "line", "opening"
CONCLUSION, COMPARISON = "conclusion", "comparison"
MENTION, CONDITIONAL, AGAINST, LISTED, NOISE = "mention", "condition", "against", "enumeration", "noise"
TICKED = "several ticks"
ECHOED = 3  # options in boxes, or letters beyond the options, that make a list
_FOLLOWED = 20  # pieces
_LETTER_A = re.compile(r"(?:a:\s*)+")
_OPERATOR = re.compile(rf"\s?(?:[-+*/×=÷<>≈^(]|x\s?\d|{cues.word('part')})")
_CALCULATION = re.compile(r"[-+*/×÷^]\s?$|\sx\s?$")
_CORRECTIONS = 8  # in a row that are followed
_TURN = re.compile(rf"[.;!?]|{cues.word('but')}")
_DIGIT = re.compile(r"\d")
_LEADS = (":", *(one if one >= cues.SCRIPT else f" {one}" for one in cues.phrases("leads")))


class Weighed:
    """The evidence of one text, each piece weighed when it is needed. unfit: its last box holds a number or
    a formula that is no option."""

    def __init__(self, text: AnswerText, known: Known, found: list[Group]) -> None:
        self.text, self.known, self.asked = text, known, QuestionWords(text, known)
        self.found = [Context(text, group) for group in found]
        self.unfit = text.boxes and _unfit(boxed(text.said), known)
        self.listed = listed(self.found, len(known.texts))
        self.signs = _signs(text, self.found) if cues.signs(text.low) else {}
        in_boxes = {it.group.places for it in self.found if it.boxed} if text.boxes else ()
        self.many_boxes = len(in_boxes) >= ECHOED
        # A list goes on beyond the options: `(E) yes`, `(F) no`, `(G) yes`.
        self.goes_beyond = sum(map(self._beyond, self.found[:_FOLLOWED])) >= ECHOED
        self._kinds: dict[int, str] = {}

    def kind(self, index: int) -> str:
        """The kind of evidence that the piece is."""
        if index not in self._kinds:
            kind = self._weighed(index)
            corrected = kind not in (STATEMENT, AGAINST) and self._corrects(index)
            self._kinds[index] = CORRECTION if corrected else kind
        return self._kinds[index]

    def _corrects(self, index: int) -> bool:
        """Whether the piece replaces an answer before it, or that answer's replacement."""
        for at in range(index, max(0, index - _CORRECTIONS), -1):
            it, last = self.found[at], self.found[at - 1]
            if it.group.places == last.group.places or not it.corrects:
                return False
            if self._weighed(at - 1) in (STATEMENT, LINE, OPENING):
                return True
        return False

    @cached_property
    def unlisted(self) -> str:
        """The text in lower case, with lists of options blanked: a list endorses none of them."""
        low, parts, at = self.text.low, [], 0
        for index, it in enumerate(self.found):
            if self.kind(index) == LISTED and it.group.start >= at:
                line = low.find("\n", it.group.end) if it.head else it.group.end
                end = line if line >= 0 else len(low)
                parts += [low[at : it.group.start], " " * (end - it.group.start)]
                at = end
        return "".join((*parts, low[at:])) if parts else low

    @cached_property
    def declines(self) -> list[tuple[int, int]]:
        """Where it declines outside a list of options."""
        return [span for span in self.text.declines if self.unlisted[slice(*span)].strip()]

    @cached_property
    def _heads(self) -> list[int]:
        """Where the lines of lists begin."""
        pieces = zip(self.found, self.listed, strict=True)
        return [it.group.start for it, listed in pieces if listed and it.head]

    @cached_property
    def _lists(self) -> frozenset[tuple[int, ...]]:
        """Options that a list names."""
        pieces = zip(self.found, self.listed, strict=True)
        return frozenset(it.group.places for it, listed in pieces if listed)

    def of(self, kind: str) -> list[Context]:
        """All pieces of this kind, in their order."""
        return [it for index, it in enumerate(self.found) if self.kind(index) == kind]

    def _weighed(self, index: int) -> str:
        """The kind of a piece, corrections aside."""
        it, group = self.found[index], self.found[index].group
        if it.boxed and not self.many_boxes:
            return NOISE if self.unfit and not group.marked else STATEMENT
        sign = self.signs.get(index, "")
        if sign and sign != TICKED:
            return sign
        kind = self._denied(index) or self._said(index)
        return sign if sign and kind not in (STATEMENT, AGAINST) else kind

    def _said(self, index: int) -> str:
        """The kind of a piece that no sign and no denial decides."""
        it, group = self.found[index], self.found[index].group
        yes_no = not group.marked and group.places[0] in self.known.answers.values()
        affirmed = it.affirmed and not yes_no and not self._qualified(it, self.listed[index])
        return self._set_aside(index, affirmed) or self._committed(index, yes_no, affirmed)

    def _denied(self, index: int) -> str:
        """The kind of a piece that a denial or condition decides; else nothing."""
        it = self.found[index]
        last = self.found[index - 1] if index else None
        next_ = self.found[index + 1] if index + 1 < len(self.found) else None
        asked = it.text.asks_denial and it.untrue
        denied = it.true or it.denied
        if last and it.turns(last):
            return STATEMENT if last.noun or it.noun else CONCLUSION
        if it.left == NOT or (denied and not asked and not (next_ and it.denies(next_))):
            return AGAINST
        if it.conditional:
            return CONDITIONAL
        if asked:
            return CONCLUSION if len({one.group.places for one in self.found if one.untrue}) == 1 else AGAINST
        return ""

    def _set_aside(self, index: int, affirmed: bool) -> str:
        """The kind of a piece that only lists, explains, declines or names no option; else nothing."""
        it, group = self.found[index], self.found[index].group
        in_list = self.listed[index] or self.many_boxes or (self.goes_beyond and self._beyond(it))
        if it.offered or (in_list and not affirmed) or len(group.places) >= len(self.known.texts) > 2:
            return LISTED
        if not group.places and not ((it.noun and it.left == LINK and it.ends) or (it.head and it.alone)):
            return NOISE
        if it.left == LINK and index and _explains(self.found[index - 1], it):
            return NOISE
        return AGAINST if it.declined else ""

    def _committed(self, index: int, yes_no: bool, affirmed: bool) -> str:
        """The kind of any other piece: how far the text commits to it."""
        it = self.found[index]
        kind = (self._at_head if it.head else self._inside)(it, yes_no, affirmed)
        if kind == STATEMENT and index and self._begun(it):
            return NOISE
        if kind in (CONCLUSION, MENTION) and it.sought and not it.noun:
            return AGAINST
        if kind != MENTION:
            return kind
        if it.best and not it.conceded:
            return COMPARISON
        if it.conceded or self.asked.restates(it):
            return CONCLUSION
        return LISTED if self._listing(index) else kind

    def _beyond(self, it: Context) -> bool:
        """Whether it begins a line with a letter that no option has."""
        return it.head and it.group.marked and self.text.low[it.group.start] not in self.known.places

    def _listing(self, index: int) -> bool:
        """Whether a mention is in the line of a list, or begins a line with what a list has named."""
        it = self.found[index]
        if it.head:
            return not it.alone and it.group.places in self._lists
        first = bisect_right(self._heads, it.group.start) - 1
        return first >= 0 and self._heads[first] >= it.line

    def _qualified(self, it: Context, listed: bool) -> bool:
        """Whether an option of a list is only said to suit something, or is below `The others are wrong:`."""
        return (listed and it.suits) or any(at < it.group.start for at in self.text.others)

    def _begun(self, it: Context) -> bool:
        """Whether the text begins, in this line, with a mark of unknown text: `E. C and D are correct`."""
        first = self.found[0]
        opens = first.first and first.line == it.line and first.group.marked and first.group.form != BARE
        return opens and not any(self.known.texts[place] for place in first.group.places)

    def _at_head(self, it: Context, yes_no: bool, affirmed: bool) -> str:
        """The kind of a piece that begins a line."""
        group = it.group
        if yes_no and it.closed == group.end < len(self.text.said):
            return NOISE
        if it.lead.endswith(_LEADS) and (group.marked or it.alone):
            if not cues.names_answer(it.lead):
                return CONCLUSION
            return AGAINST if cues.OTHERS.search(it.lead) else STATEMENT
        if (it.left == LINK and it.noun) or affirmed:
            return STATEMENT
        if it.first and not it.alone and _LETTER_A.fullmatch(self.text.low, group.start, it.closed):
            return NOISE  # `A: To find it, ...` answers no question with A
        whole = (
            it.alone
            or yes_no
            or (group.marked and group.form != BARE)
            or (group.form == TEXT and it.closed >= it.end)
        )
        if it.first and whole:
            return NOISE if self._names(it) else OPENING
        if it.alone and (group.marked or yes_no):
            return LINE
        if yes_no or group.form == BARE or (group.form == VALUE and not it.alone and not self._result(it)):
            return NOISE
        return MENTION

    def _names(self, it: Context) -> bool:
        """Whether a letter names something other than an option: `C三角形`."""
        low, end = self.text.low, it.group.end
        if it.group.span.own or it.group.form == TEXT or not "\u4e00" <= low[end : end + 1] <= "\u9fff":
            return False
        ends = chain.from_iterable(cues.ENDS.values())
        return not any(kind == LINK and low.startswith(one, end) for one, kind in ends)

    def _inside(self, it: Context, yes_no: bool, affirmed: bool) -> str:
        """The kind of a piece within a line."""
        group = it.group
        counted = group.form != VALUE or group.marked or self._result(it)
        # A bare letter says little, except in `option B`, `... is B.` and the question's own words.
        bare = group.form in (BARE, CLOSED) and not group.span.own
        bare = bare and not (it.ends and len(self.asked.words) > 1 and self.asked.repeated(it))
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
        if it.left == LINK and counted:
            named = group.marked and (not bare or it.told)
            if named or it.infers or (it.concludes and self.asked.answers(it)):
                return CONCLUSION
        if not counted or (bare and not (it.called or (it.left == LINK and it.ends))):
            return NOISE
        return MENTION

    def _result(self, it: Context) -> bool:
        """Whether a value is its sentence's last number, not in a calculation and not amid the text."""
        said, group = self.text.said, it.group
        if _OPERATOR.match(said, group.end) or _CALCULATION.search(
            said, max(0, group.start - 3), group.start
        ):
            return False
        starts = self.text.starts
        return not _DIGIT.search(said, group.end, it.end) and (
            it.end >= len(said) or len(starts) <= 3 or it.begin >= starts[-2]
        )


def _signs(text: AnswerText, pieces: list[Context]) -> dict[int, str]:
    """The kind of each piece that has a sign of its own: of a list, table or row of ticks, crosses and boxes.

    A tick chooses if one option has it; if the question asks what is not so, the sign that only one has does.
    Otherwise crosses and empty boxes count against their options, and several ticks are several answers.
    """
    signs = {
        index: sign
        for index, sign in _beside(text, pieces)
        if len(pieces[index].group.places) == 1 or sign != cues.TICK
    }
    having = {kind: {pieces[at].group.places for at in signs if signs[at] == kind} for kind in cues.SIGNS}
    single = [kind for kind in (cues.TICK, cues.CROSS) if len(having[kind]) == 1]
    kinds = dict.fromkeys(cues.SIGNS, AGAINST)
    if text.asks_denial:
        kinds |= {single[0]: STATEMENT} if len(single) == 1 else {cues.TICK: NOISE, cues.CROSS: NOISE}
    else:
        kinds[cues.TICK] = STATEMENT if cues.TICK in single else TICKED
    return {index: kinds[sign] for index, sign in signs.items()}


def _beside(text: AnswerText, pieces: list[Context]) -> Iterator[tuple[int, str]]:
    """Pieces with their signs. The first piece and the first sign of a line say whether signs stand before
    the options of that line or behind them."""
    ahead = behind = False
    last = 0
    for index, it in enumerate(pieces):
        start = it.group.start
        after = pieces[index + 1].group.start if index + 1 < len(pieces) else len(text.low)
        sign = ""
        if not index or "\n" in text.low[last:start]:
            ahead = bool(cues.signs(text.low[it.line : start]))
            sign = it.opening_sign(after) or (it.sign_before(it.line) if ahead else "")
            behind = bool(sign) and not ahead
        elif ahead or behind:
            sign = it.sign_before(last) if ahead else it.sign_behind()
        if sign:
            yield index, sign
        last = it.group.end


def _unfit(box: str, known: Known) -> bool:
    value = number(box)
    if value is not None:
        return bool(known.values) and known.valued(value) is None
    return bool(known.values) and FORMULA.search(box) is not None


def _explains(last: Context, it: Context) -> bool:
    """Whether a colon precedes it, and before that another option in the same sentence; but not in `No cat:
    a dog` or `A. Final answer: B`."""
    if last.begin != it.begin or last.denied or last.group.places == it.group.places:
        return False
    between = it.text.low[last.group.end : it.group.start]
    answers = cues.names_answer(_TURN.split(between, maxsplit=1)[-1]) if _TURN.search(between) else False
    return len(last.group.places) == 1 and ":" in between[-6:] and not answers


EXPLICIT = (STATEMENT, CORRECTION, LINE, "boxed mark", "boxed text", "boxed value")
"""Kinds of readings that outrank the others."""
PASSING = ("only mention", "last conclusion", "first mention", CONDITIONAL)
"""Kinds that may name an option in passing."""
NONE_OF_THEM = "none of them"
_NEITHER = re.compile(rf"{cues.word('neither')}[^.\n]{{1,60}}{cues.word('nor')}")


def decide(said: str, low: str, known: Known, question: str = "") -> Reading:
    """The option that the text commits to; if it names none, the one that its words amount to."""
    text = AnswerText(said, low, question)
    weighed = Weighed(text, known, groups(said, low, known))
    reading = _decided(weighed)
    undecided = reading.verdict == NONE and reading.kind in ("", NONE_OF_THEM)
    if undecided and (stated := answered(weighed.unlisted, known, question)):
        return stated
    if reading.verdict != NONE or reading.kind:
        return reading
    found = paraphrased(weighed.unlisted, known)
    return _decided(Weighed(AnswerText(said, weighed.unlisted, question), known, found)) if found else reading


def _decided(weighed: Weighed) -> Reading:
    """An explicit statement outranks all else (of several, the last); then a line of its own, the opening,
    and a conclusion or comparison that declining words do not follow. Mentions count if no words decline and
    no box holds a number that is no option."""
    former = None
    for index in range(len(weighed.found) - 1, -1, -1):
        if weighed.kind(index) in (STATEMENT, CORRECTION):
            if not weighed.found[index].former:
                return _named(weighed.found[index], weighed.kind(index))
            former = former or weighed.found[index]
    for kind, which in ((LINE, -1), (OPENING, 0)):
        pieces = weighed.of(kind)
        if pieces and not (len(_places(pieces)) == len(weighed.known.texts) < len(pieces) // 2):
            return _named(pieces[which], kind)
    if former:
        return _named(former, STATEMENT)
    text, options, declines = weighed.text, weighed.known.texts, weighed.declines
    for kind in (CONCLUSION, COMPARISON):
        if pieces := [it for it in weighed.of(kind) if it.group.marked or not weighed.unfit]:
            clear = pieces[-1].group.form != VALUE or weighed.asked.restates(pieces[-1])
            clear = clear and len({it.group.places for it in pieces}) == 1
            if clear or not declines or declines[-1][0] < pieces[-1].group.start:
                return _named(pieces[-1], kind)
    if declines:
        phrase = text.low[slice(*declines[-1])]
        same = [place for place, option in enumerate(options) if phrase in option]
        if len(same) == 1:  # `It cannot be determined` may be an option
            return Reading(OPTION, (same[0],), "declining option", phrase)
        return _without(text, declines[-1], DECLINED)
    if len(options) == 2 and (neither := _NEITHER.search(text.low)):
        return _without(text, neither.span(), NONE)
    if none := cues.none_of(weighed.unlisted, text.words):
        return _without(text, none[-1], NONE)
    if ticked := weighed.of(TICKED):
        return _named(ticked[-1], TICKED)._replace(verdict=SEVERAL, places=tuple(sorted(_places(ticked))))
    reading = Reading(NONE, (), "", "") if weighed.unfit else _mentioned(weighed)
    missing = cues.lacks(weighed.unlisted, text.words) if reading.verdict == NONE else []
    return _without(text, missing[-1], DECLINED) if missing else reading


def _mentioned(weighed: Weighed) -> Reading:
    """The only option mentioned; else the only one in the first sentence or the last one. It counts if it is
    about the question. An option named amid a text that weighs several is wrong about as often as right."""
    pieces = weighed.of(MENTION)
    pieces = [it for it in pieces if not it.explains] or pieces
    if len({it.group.places for it in pieces}) == 1:
        for it in pieces[:_FOLLOWED]:
            if weighed.asked.answers(it):
                return _named(it, "only mention")
    end = len(weighed.text.said.rstrip())
    concluding = [it for it in pieces if it.concludes][-1:]
    concluding = [it for it in concluding if weighed.asked.answers(it)]
    first = [it for it in pieces[:1] if weighed.asked.stands_out(it, pieces[:_FOLLOWED])]
    for name, chosen in (("last conclusion", concluding), ("first mention", first)):
        for it in chosen:
            same = [other for other in pieces if other.begin == it.begin]
            linked = [other for other in same if other.left == LINK]
            decisive = same if len(_places(same)) == 1 else linked if len(linked) == 1 else []
            if decisive and len(decisive[0].group.places) == 1 and (it.begin == 0 or it.end >= end):
                return _named(decisive[0], name)
    said = weighed.text.said
    supposed = [it for it in weighed.of(CONDITIONAL) if "," in said[it.begin : it.group.start]]
    supposed = [it for it in supposed if weighed.asked.repeats(it) >= ABOUT]
    if len(_places(supposed)) == 1 and not supposed[0].noun:
        return _named(supposed[0], CONDITIONAL)
    return Reading(NONE, (), "", "")


def _places(pieces: list[Context]) -> set[int]:
    return {place for it in pieces for place in it.group.places}


def _named(it: Context, kind: str) -> Reading:
    places = tuple(sorted(it.group.places))
    span = it.text.said[max(it.begin, it.group.start - 60) : it.group.end + 1].strip()
    verdict = OPTION if len(places) == 1 else SEVERAL if places else NONE
    return Reading(verdict, places, kind, " ".join(span.split()))


def _without(text: AnswerText, span: tuple[int, int], verdict: str) -> Reading:
    kind = "decline" if verdict == DECLINED else NONE_OF_THEM
    return Reading(verdict, (), kind, " ".join(text.said[slice(*span)].split()))
