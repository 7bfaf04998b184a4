"""How the evidence in a text is weighed, and which option it comes down to.

`decide` is the entry: it classifies every mention of an option (a statement, a line of its own, the opening,
a conclusion, a mention, ...) and takes the strongest kind. If no option is named, it looks for answers in
other words: `Plants may increase` for `plants increase`, `It is not the maximum` for `no` to `Is it the
maximum?`.
"""

import re
from itertools import pairwise

from vouch.metrics.text.numbers import FORMULA, number
from vouch.metrics.text.reader import cues
from vouch.metrics.text.reader.context import CHOOSE, LINK, NOT, SENTENCE_END, START, AnswerText, Context
from vouch.metrics.text.reader.options import DECLINED, NONE, OPTION, SEVERAL, Known, Reading
from vouch.metrics.text.reader.spans import BARE, BRACKETED, CLOSED, TEXT, VALUE, Group, Span, groups
from vouch.metrics.text.wording import boxed

_WORD = re.compile(r"[^\W_]+(?:'t)?")
_PASSED = frozenset(cues.phrases("small"))
_COMPARED = frozenset(cues.phrases("comparative"))
_VERB = cues.word("asks")
_ASKS = re.compile(rf"{_VERB}\s", re.IGNORECASE)
_NEGATION = cues.word("negation")
# Where a denial begins (group 1) and ends: at punctuation, a contrast or, in an aside, a verb (group 2).
_BOUNDS = re.compile(rf"({_NEGATION})|[,;:()—–]|{cues.word('contrast')}|({_VERB})")
_ASIDES = frozenset(cues.phrases("aside_negation"))
_RELATIVE = re.compile(cues.word("relative") + r"\s(?:\w{1,8}\s)?$")
# Not in `but not on the right`, nor in `not on the right but on the left`.
_CONTRAST = re.compile(rf"{cues.word('contrast')}(?!\s{_NEGATION})(?!\s(?:(?!{_VERB})[^,;:()]){{0,80}}$)")
_COVERED = 0.8
_PLACES = frozenset(cues.phrases("place"))
_SCENE = re.compile(rf"{cues.any_of(_PLACES)}\s(?:{cues.word('article', 'pronoun')}\s)?{cues.word('scene')}")


def paraphrased(low: str, known: Known) -> list[Group]:
    """Mentions of options by their words, in their order with only small words between them."""
    options = [_words(text) for text in known.texts]
    sought = {
        words: place
        for place, words in enumerate(options)
        if len(words) > 1 and options.count(words) == 1 and all(len(word) > 1 for word in words)
    }
    if not sought:
        return []
    matches = [(match, _stem(match.group())) for match in _WORD.finditer(low) if match.group() not in _PASSED]
    stems = [stem for _, stem in matches]
    found = []
    for words, place in sought.items():
        for at in range(len(stems) - len(words) + 1):
            if stems[at] == words[0] and tuple(stems[at : at + len(words)]) == words:
                found.append(
                    Span((place,), matches[at][0].start(), matches[at + len(words) - 1][0].end(), TEXT)
                )
    return [Group(span) for span in sorted(found, key=lambda span: span.start)]


def answered(low: str, known: Known, question: str) -> Reading | None:
    """Yes if a sentence repeats the question's words; no if it denies what they affirm, or the reverse."""
    asked = question.strip().splitlines()[-1].lower() if question.strip() else ""
    asked = asked.rpartition(". ")[2] if not _ASKS.match(asked) else asked
    if not known.answers or not _ASKS.match(asked):
        return None
    asked, low = _SCENE.sub(" ", asked), _SCENE.sub(" ", low)
    passed = _PASSED - _PLACES if _PLACES & set(_WORD.findall(asked)) else _PASSED
    affirmed, denied = _polar(asked, passed)
    sought = affirmed | denied
    reading = None
    for sentence in _sentences(low)[:3]:
        said = set(_words(sentence, passed))
        yes, no = _polar(sentence, passed)
        if sentence.endswith("?") or not sought or (sought - said | said - sought - (no - yes)) & _COMPARED:
            continue
        if not said <= sought and any(not _formed(one, said - sought) for one in sought - said):
            continue  # it may say one thing for another: `closed` for `open`, `under` for `on`
        if cues.CONDITION.match(sentence) or _CONTRAST.search(cues.AFFIRMING.sub(" ", sentence)):
            continue
        again = reading is None or cues.CONCLUDES.search(sentence)
        if again and len(sought & (yes | no)) >= _COVERED * len(sought):
            turned = affirmed & (no - yes) or denied & (yes - no)
            place = known.answers[not turned]
            reading = Reading(OPTION, (place,), "statement of the question", " ".join(sentence.split()))
    return reading


def _polar(sentence: str, passed: frozenset[str]) -> tuple[set[str], set[str]]:
    """The words that a sentence affirms, and those that it denies. Some are both: `the left side, not the
    right side`. A negation without words of its own denies those before it: `the cat is not`."""
    sentence = cues.AFFIRMING.sub(" ", sentence)
    words: tuple[set[str], set[str]] = set(), set()
    clause: set[str] = set()
    at, denies, brief = 0, False, False
    for bound in (*_BOUNDS.finditer(sentence), None):
        end = bound.start() if bound else len(sentence)
        found = _words(sentence[at:end], passed)
        if bound and bound[2] and denies and not (brief and found):
            continue  # a verb ends only an aside: `without handles is`, not `does not have`
        if denies and not found and not (bound and bound[1]):
            words[0].difference_update(clause)
            words[1].update(clause)
        words[denies].update(found)
        clause = clause.union(found) if bound and (bound[1] or bound[2]) else set()
        if bound:
            at, denies = bound.end(), bool(bound[1])
            before = sentence[max(0, bound.start() - 24) : bound.start()]
            brief = denies and (bound[1] in _ASIDES or _RELATIVE.search(before) is not None)
    return words


def _sentences(low: str) -> list[str]:
    ends = [0, *(match.end() for match in SENTENCE_END.finditer(low)), len(low)]
    return [one for start, end in pairwise(ends) if (one := low[start:end].strip())]


def _words(text: str, passed: frozenset[str] = _PASSED) -> tuple[str, ...]:
    return tuple(_stem(word) for word in _WORD.findall(text) if word not in passed)


def _formed(word: str, others: set[str]) -> bool:
    """Whether another form of the word is among the others: `busses`, `opened`."""
    stem = word[: max(3, len(word) - 1)]
    return any(other.startswith(stem) for other in others)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


STATEMENT, CORRECTION, LINE, OPENING = "statement", "correction", "line", "opening"
CONCLUSION, COMPARISON = "conclusion", "comparison"
MENTION, CONDITIONAL, AGAINST, LISTED, NOISE = "mention", "condition", "against", "enumeration", "noise"
_OPERATOR = re.compile(rf"\s?(?:[-+*/×=÷<>≈^(]|{cues.word('part')})")
_CALCULATION = re.compile(r"[-+*/×÷^]\s?$")
_CORRECTIONS = 8  # the most corrections in a row that are followed
_TURN = re.compile(rf"[.;!?]|{cues.word('but')}")
_DIGIT = re.compile(r"\d")
_LEADS = (":", *(one if one >= cues.SCRIPT else f" {one}" for one in cues.phrases("leads")))


class Weighed:
    """The evidence of one text, each piece weighed when it is needed. unfit: its last box holds a number or
    a formula that is no option."""

    def __init__(self, text: AnswerText, known: Known, found: list[Group]) -> None:
        self.text, self.known = text, known
        self.found = [Context(text, group) for group in found]
        self.unfit = text.boxes and _unfit(boxed(text.said), known)
        self.listed = _runs(self.found, len(known.texts))
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
            return CONDITIONAL
        if asked:
            return CONCLUSION if len({one.group.places for one in self.found if one.untrue}) == 1 else AGAINST
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
        """The kind of a piece within a line."""
        group = it.group
        counted = group.form != VALUE or group.marked or self._result(it)
        # A bare letter says little, except in `option B` and `... is B.`
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


EXPLICIT = (STATEMENT, CORRECTION, LINE, "boxed mark", "boxed text", "boxed value")
"""Kinds of readings that outrank the others."""
PASSING = ("only mention", "last conclusion", "first mention", CONDITIONAL)
"""Kinds that may name an option in passing."""
NONE_OF_THEM = "none of them"
_NEITHER = re.compile(rf"{cues.word('neither')}[^.\n]{{1,60}}{cues.word('nor')}")


def decide(said: str, low: str, known: Known, question: str = "") -> Reading:
    """The option that the text commits to; if it names none, the one that its words amount to."""
    text = AnswerText(said, low, question)
    reading = _decided(Weighed(text, known, groups(said, low, known)))
    silent = reading.verdict == NONE and reading.kind in ("", NONE_OF_THEM)
    if silent and (stated := answered(low, known, question)):
        return stated
    if reading.verdict != NONE or reading.kind:
        return reading
    found = paraphrased(low, known)
    return _decided(Weighed(text, known, found)) if found else reading


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
        if pieces := weighed.of(kind):
            return _named(pieces[which], kind)
    if former:
        return _named(former, STATEMENT)
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
    if none := cues.none_of(text.low, text.words):
        return _without(text, none[-1], NONE)
    reading = Reading(NONE, (), "", "") if weighed.unfit else _mentioned(weighed)
    missing = cues.lacks(text.low, text.words) if reading.verdict == NONE else []
    return _without(text, missing[-1], DECLINED) if missing else reading


def _mentioned(weighed: Weighed) -> Reading:
    """The only option mentioned; else the only one of the first sentence or the last one. An option named
    amid a text that weighs several is as often as not the wrong one."""
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
    supposed = [it for it in weighed.of(CONDITIONAL) if "," in said[it.begin : it.group.start]]
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
