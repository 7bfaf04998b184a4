"""The context of a mention of an option: the words before and after it, its sentence and its line."""

import re
from bisect import bisect_right
from functools import cached_property

from vouch.metrics.text.reader import cues
from vouch.metrics.text.reader.spans import BRACKETED, Group
from vouch.metrics.text.wording import BOX

LINK, CHOOSE, NOT, WEAK, WORD, STOP, START = "link", "choose", "not", "weak", "word", "stop", "start"
"""Kinds of words."""
OPENERS = " \t\"'([{「『*_<"


def before(said: str, low: str, at: int, asked: bool = False) -> tuple[str, bool]:
    """The kind of the word before position `at`, skipping fillers, and whether a filler names an answer.

    asked: whether the question asks what cannot be, so that `it cannot be B` is an answer.
    """
    noun = False
    for _ in range(8):
        while at > 0 and said[at - 1] in OPENERS:
            at -= 1
        if at == 0 or said[at - 1] == "\n":
            return START, noun
        last = said[at - 1]
        if last == ":" or last == BOX or (last in "-–—" and said[at - 2 : at - 1] == " "):
            return LINK, noun
        if last in "】]" and cues.HEADED.search(low, max(0, at - 24), at):
            return LINK, True
        if last in ".,;!?。、)]}-–—":
            return _script(said, at)[0] or STOP, noun
        kind, begin = _script(said, at) if last >= cues.SCRIPT else _word(low, at)
        if kind in (LINK, CHOOSE) and not asked and _denied(low, begin):
            return NOT, noun
        if kind != "filler":
            return kind or WORD, noun
        noun = noun or cues.names_answer(low[begin:at])
        at = begin
    return WORD, noun


def _denied(low: str, at: int) -> bool:
    """Whether a negation precedes `at`, skipping up to two fillers: `cannot possibly be`, `no es`."""
    for _ in range(3):
        if at < 1:
            return False
        begin = low.rfind(" ", 0, at - 1) + 1
        word = low[begin : at - 1]
        if word in cues.DENIALS:
            return low[at - 1] == " "
        if cues.WORDS.get(word) != "filler":
            return False
        at = begin
    return False


def _script(said: str, at: int) -> tuple[str, int]:
    for ending, kind in cues.ENDS.get(said[at - 1], ()):
        if said.endswith(ending, max(0, at - 8), at):
            return kind, at - len(ending)
    return "", at - 1


def _word(low: str, at: int) -> tuple[str, int]:
    """The kind and the start of the longest phrase that ends at position `at`."""
    words = low[max(0, at - 40) : at].replace("\n", " ").split(" ")
    last = words[-1].lstrip("\"'([{*,")
    for count in range(min(cues.LONGEST.get(words[-1], 1), len(words)), 1, -1):
        phrase = " ".join(words[-count:]).lstrip("\"'([{*,")
        if kind := cues.WORDS.get(phrase):
            return kind, at - len(phrase)
    return cues.WORDS.get(last) or (LINK if last.endswith("'s") else ""), at - len(last)


SENTENCE_END = re.compile(
    r"[.!?。\n](?<![\W_][A-Za-z]\.)(?:(?<=[。\n])|(?=[\"')\]_*」]{0,4}\s)|(?<=[!?])(?=[⺀-鿿]))"
)
CLOSERS = re.compile(r"[\s\"')\]}」』*_.,;:!?。、>]*")
_BULLET = re.compile(
    r"[ \t]{0,12}(?:[-•·+>#–*]{1,4}|\d{1,2}[.)])?[ \t]{0,4}[\"'(\[{「『*]{0,4}"
    rf"(?:{cues.piece('named')}[ \t]{{0,2}})?(?:{cues.piece('definite')} )?[\"'(\[{{「*]{{0,4}}",
    re.IGNORECASE,
)
_ASIDES = " \t\n-•·>#\"'([{「*"
_FAR = re.compile(rf"(?<!\w){cues.piece('far')}\s[^,.;:\n]{{0,36}}$")
_DOUBTS = re.compile(rf"{cues.word('doubts')},?[^,.;:\n，；：]{{0,40}}$")
_SOUGHT = re.compile(cues.word("sought") + r"[^,.;\n]*$")
_PRONOUN = re.compile(rf"\W{{0,4}}(?:{cues.piece('mine')} )?{cues.piece('pronoun')}(?:'s| )")
_SHORTEST, _FARTHEST, _NEAR = 5, 400, 48
_HEADING = re.compile(r"(?m)^[^\n]{1,80}:[ \t*]{0,4}$")
_SIGN_BEHIND = re.compile(r"[ \t)\]\"'*:|]{0,6}" + cues.SIGN.pattern)
_SUITS = re.compile(cues.piece("suits"))
_OFFERED = re.compile(
    "".join(f"(?<!{one} )" for one in cues.phrases("chosen")) + rf"{cues.piece('offers')}\W{{0,6}}$"
)
_FORMER = re.compile(
    "".join(f"(?<!{one} )" for one in cues.phrases("likewise"))
    + rf"{cues.word('former')}(?:(?!{cues.word('but', 'now')})[^.;!?\n。])*$"
)
_CALLED = re.compile(cues.word("called") + r"\s?[\"'(\[*]{0,3}$")
_BECAUSE = re.compile(cues.word("because"))
_EMBEDS = re.compile(cues.word("embeds"))


_PLAIN = str.maketrans(dict.fromkeys("\"'()[]*,;:「『", " "))
_STOPS = " \t\"')]*,;."
_TAKEN_BACK = rf"{cues.word('corrects')}[\s,、。:;.!?…—–-]{{0,6}}"
_CORRECTS = re.compile(
    rf"{_TAKEN_BACK}(?:{cues.word('told')}[\s:]{{0,3}})?(?:{cues.word('called')}\s)?[\s\"'(\[*]{{0,4}}$"
)


def _begins(low: str) -> bool:
    """Whether at most a bullet or the line of a table is in this text before an option."""
    return _BULLET.fullmatch(low.replace("|", " ").lstrip()) is not None


def _fillers(low: str) -> bool:
    """Whether a text is short and holds only words that may come before an option."""
    return len(low) <= 32 and all(
        cues.WORDS.get(word) in ("filler", "link", "choose") for word in low.translate(_PLAIN).split()
    )


class AnswerText:
    """A text, also in lower case, with the starts of its sentences."""

    def __init__(self, said: str, low: str, question: str = "") -> None:
        self.said, self.low, self.boxes = said, low, BOX in said
        self.question = question
        self.asks_wrong, self.asks_denial = cues.asks_for(question)
        self.starts = [0] + [match.end() for match in SENTENCE_END.finditer(said)]

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words in lower case."""
        return cues.words_of(self.low)

    @cached_property
    def others(self) -> list[int]:
        """Start of each line that says what is wrong with the other options."""
        lines = _HEADING.finditer(self.low)
        return [
            line.start()
            for line in lines
            if cues.OTHERS.search(line.group()) and cues.names_answer(line.group())
        ]

    @cached_property
    def declines(self) -> list[tuple[int, int]]:
        """Start and end of the words by which it declines to answer."""
        return cues.declines(self.low, self.words)


class Context:
    """A passage that names options, and its context.

    begin, end: of its sentence; line: beginning of its line, at most 200 characters before. left: kind of the
    word before. head: whether at most a bullet precedes it in its line.
    """

    def __init__(self, text: AnswerText, group: Group) -> None:
        self.text, self.group = text, group
        index = bisect_right(text.starts, group.start)
        self.begin = max(text.starts[index - 1], group.start - _FARTHEST)
        end = text.starts[index] if index < len(text.starts) else len(text.said)
        self.end = min(end, group.end + _FARTHEST)
        far = max(0, group.start - 200)
        self.line = text.said.rfind("\n", far, group.start) + 1 or far
        near = group.start - self.line <= _NEAR
        self.head = near and _BULLET.fullmatch(text.said, self.line, group.start) is not None
        self.left, self._noun = before(text.said, text.low, group.start, text.asks_denial)

    @cached_property
    def noun(self) -> bool:
        """Whether an answer is mentioned before it in the sentence."""
        return self._noun or cues.names_answer(
            self.text.low[max(self.begin, self.group.start - 300) : self.group.start]
        )

    def opening_sign(self, after: int) -> str:
        """TICK, CROSS or EMPTY if it begins its line, which has one such sign before the next piece (at
        `after`). If that follows in the line, a sign before this piece is its own."""
        low, start = self.text.low, self.group.start
        if start - self.line > _NEAR or not _begins(cues.SIGN.sub("", low[self.line : start])):
            return ""
        end = low.find("\n", self.group.end, after)
        ahead = cues.signs(low[self.line : start]) if end < 0 and after < len(low) else ()
        signs = ahead or cues.signs(low[self.line : end if end >= 0 else after])
        return next(iter(signs)) if len(signs) == 1 else ""

    def sign_before(self, begin: int) -> str:
        """The sign right before it, not before `begin`."""
        near = self.text.low[max(begin, self.group.start - _NEAR) : self.group.start]
        ahead = list(cues.SIGN.finditer(near))
        return next(iter(cues.signs(ahead[-1].group()))) if ahead and _begins(near[ahead[-1].end() :]) else ""

    def sign_behind(self) -> str:
        """The sign right behind it."""
        sign = _SIGN_BEHIND.match(self.text.low, self.group.end)
        return next(iter(cues.signs(sign.group()))) if sign else ""

    @property
    def boxed(self) -> bool:
        """Whether it is in a box."""
        return (
            self.text.boxes
            and BOX in self.text.said[max(self.line, self.group.start - 40) : self.group.start]
        )

    @cached_property
    def first(self) -> bool:
        """Whether nothing precedes it in the text."""
        return self.head and not self.text.said[max(0, self.line - 300) : self.line].strip(_ASIDES)

    @cached_property
    def lead(self) -> str:
        """The sentence before its line, in lower case."""
        lead = self.text.low[max(0, self.line - 300) : self.line].rstrip(_ASIDES).rsplit("\n", 1)[-1]
        ends = [match.end() for match in SENTENCE_END.finditer(lead)]
        return lead[ends[-1] :] if ends else lead

    @cached_property
    def closed(self) -> int:
        """The end of the punctuation after it."""
        found = CLOSERS.match(self.text.said, self.group.end)
        return found.end() if found else self.group.end

    @cached_property
    def alone(self) -> bool:
        """Whether its line holds nothing else."""
        return self.head and (
            self.closed == len(self.text.said) or "\n" in self.text.said[self.group.end : self.closed]
        )

    @property
    def ends(self) -> bool:
        """Whether it is in brackets or ends its sentence."""
        after = self.text.said[self.group.end : self.group.end + 1]
        return self.group.form == BRACKETED or after in ("", ".", "\n", "。")

    def _before(self, rule: re.Pattern[str], reach: int = _FARTHEST) -> bool:
        """Whether the rule matches in its sentence, at most `reach` characters before it."""
        start = self.group.start
        return rule.search(self.text.low, max(self.begin, start - reach), start) is not None

    def _behind(self, rule: re.Pattern[str]) -> re.Match[str] | None:
        return rule.match(self.text.low, self.group.end)

    @cached_property
    def affirmed(self) -> bool:
        """Whether it is said to be the answer."""
        return self._behind(cues.AFFIRMED) is not None

    @cached_property
    def _denial(self) -> re.Match[str] | None:
        return self._behind(cues.DENIED)

    @property
    def untrue(self) -> bool:
        """Whether the words after it deny it."""
        return self.left != NOT and self._denial is not None

    @property
    def true(self) -> bool:
        """Whether it is called a true statement although the question asks which of them is wrong."""
        return self.text.asks_wrong and self._behind(cues.TRUE) is not None

    @property
    def suits(self) -> bool:
        """Whether it is affirmed by a word that can apply to several options."""
        affirmed = self._behind(cues.AFFIRMED)
        return affirmed is not None and _SUITS.search(affirmed.group()) is not None

    @property
    def offered(self) -> bool:
        """Whether options are only listed as the choices: `The options are: (A)`."""
        return self._before(_OFFERED, 40)

    @property
    def called(self) -> bool:
        """Whether it is called an option or a choice."""
        return self._before(_CALLED, 16)

    @property
    def best(self) -> bool:
        """Whether it is called better than the others."""
        return self._behind(cues.BEST) is not None

    @property
    def denied(self) -> bool:
        """Whether the text speaks against it, or only compares it."""
        if self.left == NOT or self._before(_DOUBTS, 64):
            return True
        near = self.text.low[max(self.begin, self.group.start - 56) : self.group.start]
        if self.left in (WORD, WEAK) and _FAR.search(near):
            return True
        return self._denial is not None and not self.affirmed

    def denies(self, other: "Context") -> bool:
        """Whether the denial after a comma belongs to the next option instead: `C, is not B`."""
        denial = self._denial
        if denial is None or "," not in denial.group():
            return False
        return _fillers(self.text.low[denial.end() : other.group.start])

    def turns(self, last: "Context") -> bool:
        """Whether it replaces the option before, which is denied: `not A but B`, `A is not right, B is`."""
        between = self.text.low[last.group.end : self.group.start].lstrip(_STOPS)
        if last.untrue and last.begin == self.begin and cues.ELLIPTIC.match(self.text.low, self.group.end):
            return True
        contrast = cues.BUT.match(between) if last.left == NOT else None
        return contrast is not None and _fillers(between[contrast.end() :])

    @property
    def corrects(self) -> bool:
        """Whether it takes back an earlier answer: `A. Wait, no: B`."""
        near = self.text.low[max(0, self.group.start - 48) : self.group.start]
        goes_on = self.text.said[self.group.end : self.group.end + 1] < cues.SCRIPT
        return (self.ends or not goes_on) and _CORRECTS.search(near) is not None

    @property
    def former(self) -> bool:
        """Whether it was only answered earlier: `My first answer was A`."""
        return self._before(_FORMER, 100)

    @property
    def conditional(self) -> bool:
        """Whether it is only part of a condition, other than "if I had to choose"."""
        low, start = self.text.low, self.group.start
        condition = cues.CONDITION.match(low, self.begin) or cues.MID_CONDITION.search(low, self.begin, start)
        return condition is not None and cues.MUST.search(low, self.begin, start) is None

    @property
    def concludes(self) -> bool:
        """Whether its sentence draws a conclusion."""
        return self._before(cues.CONCLUDES)

    @property
    def infers(self) -> bool:
        """Whether it does so by a word such as `therefore`."""
        return self._before(cues.THEREFORE)

    @property
    def told(self) -> bool:
        """Whether its sentence says what `it` or `this` is."""
        return _PRONOUN.match(self.text.low, self.begin) is not None

    @property
    def sought(self) -> bool:
        """Whether its clause says what is to be found: `To identify the red circle, ...`."""
        return self._before(_SOUGHT, 64)

    @property
    def explains(self) -> bool:
        """Whether it follows a `because`."""
        return self._before(_BECAUSE)

    @property
    def declined(self) -> bool:
        """Whether its sentence declines: `I cannot say whether it is (A)`, not `I cannot see it, but (A)`."""
        before, end = self._declining
        if end < 0 or self.conceded:
            return False
        return not self.group.marked or _EMBEDS.search(before, end) is not None

    @property
    def conceded(self) -> bool:
        """Whether its sentence declines, but names this after a `but`: `I cannot be sure, but (A)`."""
        before, end = self._declining
        return end >= 0 and cues.BUT.search(before, end) is not None

    @cached_property
    def _declining(self) -> tuple[str, int]:
        """The sentence up to here, and the end of the words in it that decline; -1 if there are none."""
        before = self.text.low[self.begin : self.group.start]
        spans = cues.declines(before, cues.words_of(before)) if len(before) >= _SHORTEST else []
        return before, spans[-1][1] if spans else -1
