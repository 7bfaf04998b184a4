"""Answers to open questions: the number, the list or the words that a text gives as its answer."""

import re
from functools import cached_property
from itertools import pairwise

from vouch.metrics.text.numbers import FORMULA, WORD_NUMBER, expressions, number
from vouch.metrics.text.reader import cues
from vouch.metrics.text.reader.context import CLOSERS, OPENERS, SENTENCE_END
from vouch.metrics.text.reader.options import ANSWER, DECLINED, NONE, Reading
from vouch.metrics.text.reader.reader import ANSWERED, cut, lowered, prepared
from vouch.metrics.text.wording import boxed, trimmed, undressed

_EXPLICIT, _PASSING = ("boxed value", "statement"), ("bold value", "last value")
_NEAR, _FEW, _BEGINNING, _WHOLE = 3, 3, 24, 400
_ENUMERATED = re.compile(r"(?m)^[ \t]{0,4}\([a-zA-Z]{1,2}\)\s")
_BOLD = re.compile(r"\*(?=\S)([^*\n]{1,60})(?<=\S)\*")
_LIST = re.compile(r"\[[^\[\]\n]{0,300}\]")
_SEVERAL = re.compile(rf"[\d.√π/-]{{1,20}}(?:\s?(?:{cues.piece('join')}|[,&])\s?[\d.√π/-]{{1,20}}){{1,20}}")
_RATIO = re.compile(
    r"(?<![\w:.])\d{1,4}:\d{1,4}(?![\w:])"
    rf"|(?<![\w.-])\d{{1,6}}(?:\.\d{{1,4}})?%?(?:\s{cues.piece('range')}\s|[-–])"
    r"\d{1,6}(?:\.\d{1,4})?(?![\w:]|\s?=)"
)
_STEP = re.compile(rf"[ \t]{{0,8}}(?:\d{{1,2}}[.)]|{cues.piece('step')} \d{{1,2}}[.):]?)\s", re.IGNORECASE)
# Words before a number: those that show that it is no answer, and those that link it to the question.
_BOUND = re.compile(rf"(?<!\w)(?:{cues.piece('bound')}|∠)\s{{0,2}}[$€£¥]?$")
_LIMIT = re.compile(rf"(?<!\w){cues.piece('limit')}\s{{0,2}}[$€£¥]?$|[a-z)]\s[-+]\s?$|[<>≤≥]\s?$")
_SUCH = re.compile(rf"(?<!\w){cues.piece('such')}\s$", re.IGNORECASE)
_AFTER_LINK = re.compile(rf"(?:{cues.word('gives')}|[:=≈])\s{{0,2}}[\"'(*$€£¥]{{0,3}}\s?$")
_TERM = re.compile(r"\s?[-+*^]\s?\d{0,4}[a-zA-Z](?!\w)|[xyzi](?!\w)")
_FUNCTION = re.compile(
    rf"(?<![^\W\d_])(?:{cues.piece('function')}(?:[_^]\(?\w{{1,4}}\)?)?[ (]{{1,2}}|[a-z]\()$"
)
_PRIOR = re.compile(r"(?<![A-Za-z])[xyzi]\s?[-+*^]\s?$")
_ASIDE = re.compile(rf",\s{cues.piece('aside')}\s|\s{cues.piece('explaining')}\s")
_EXAMPLE = re.compile(cues.word("example"))
_INSTANCE = re.compile(rf"\s{{0,4}}{cues.piece('instance')}(?!\w)")
_EXPLAINS = re.compile(rf"\n[ \t*#]{{0,4}}{cues.piece('explanation')}[ \t*]{{0,3}}:", re.IGNORECASE)


def value(text: str) -> Reading:
    """The number, ratio or list that a text gives, in the span of the reading."""
    said = prepared(text)
    head = cut(said)
    if head and (reading := _Said(head).read()).verdict != NONE:
        passing = len(head) > ANSWERED and reading.kind in _PASSING
        if not passing or _Said(said).read().kind not in _EXPLICIT:
            said = head
    explained = _EXPLAINS.search(said, 1)
    if explained and (reading := _Said(said[: explained.start()]).read()).verdict == ANSWER:
        return reading
    return _Said(said).read()


def phrase(text: str) -> str:
    """The words that a text gives as its answer: in a box, after `the answer is`; else the text itself."""
    said = prepared(text)
    head = cut(said)
    if head and (len(head) <= ANSWERED or boxed(head) or cues.LINKED.search(head)):
        said = head
    if box := boxed(said):
        return box
    found = list(cues.LINKED.finditer(said))
    if not found:
        return said
    rest = said[found[-1].end() :].lstrip(OPENERS + "\n")
    end = SENTENCE_END.search(rest)
    return rest[: end.start()] if end else rest


def declined(text: str) -> Reading:
    """Whether a text declines at its beginning and gives no answer further on."""
    said = _Said(prepared(text))
    if (
        said.declines
        and said.declines[0][0] <= _BEGINNING
        and not boxed(said.said)
        and not cues.LINKED.search(said.said)
    ):
        return said.declined(*said.declines[0])
    return Reading(ANSWER)


def items(text: str) -> list[str] | None:
    """The items of the last list in square brackets, undressed; None if there is none."""
    found = _LIST.findall(text)
    return [undressed(item).strip(" \"'").lower() for item in found[-1][1:-1].split(",")] if found else None


class _Said:
    """A prepared text that is searched for a number."""

    def __init__(self, said: str) -> None:
        self.said, self.low = lowered(said)

    @cached_property
    def declines(self) -> list[tuple[int, int]]:
        return cues.declines(self.low, cues.words_of(self.low))

    @cached_property
    def lacks(self) -> list[tuple[int, int]]:
        return cues.lacks(self.low, cues.words_of(self.low))

    def read(self) -> Reading:
        """A box and a statement outrank all else; then words that decline; then a conclusion, bold text, and
        the last result."""
        said = trimmed(self.said[:_WHOLE])
        listed = (_LIST.fullmatch(said) and "," in said) or _SEVERAL.fullmatch(said)
        if len(self.said) <= _WHOLE and (number(said) is not None or listed):
            return Reading(ANSWER, (), "value alone", said)
        if boxes := self._boxed():
            return boxes
        sentences = _sentences(self.said)
        for begin, end in reversed(sentences):
            if stated := self._stated(begin, end):
                return Reading(ANSWER, (), "statement", stated)
        if len(_ENUMERATED.findall(self.said)) > _FEW:
            return Reading(NONE, (), "enumeration", "")
        results = [result for begin, end in sentences if (result := self._result(begin, end))]
        if self.declines:
            begin, end = self.declines[-1]
            later = any(result.begin > begin and (result.linked or result.concludes) for result in results)
            if not later or _EXAMPLE.search(self.low, end):
                return self.declined(begin, end)
        return self._weighed(results)

    def _boxed(self) -> Reading | None:
        """The number that the last box holds, by itself or with words; else the whole content of the box."""
        box = trimmed(boxed(self.said))
        if not any(char.isalnum() for char in box) or cues.declines(box.lower(), cues.words_of(box.lower())):
            return None
        last = re.split("[=≈]", box)[-1].strip()
        found = [one[2] for one in _numbers(box, 0, len(box))]
        if number(box) is not None or len(found) != 1 or FORMULA.search(box):
            found = [box if number(last) is None else last]
        return Reading(ANSWER, (), "boxed value" if _numbers(box, 0, len(box)) else "boxed text", found[0])

    def _weighed(self, results: "list[_Result]") -> Reading:
        concluding = [at for at, result in enumerate(results) if result.concludes]
        # The last result counts, unless it only explains the conclusion.
        if concluding and (concluding[-1] == len(results) - 1 or not results[-1].linked):
            return Reading(ANSWER, (), "conclusion", results[concluding[-1]].written)
        for match in _BOLD.finditer(self.said):
            if found := _numbers(self.said, *match.span(1)):
                return Reading(ANSWER, (), "bold value", found[-1][2])
        if last := [result for result in results if result.linked] or results:
            return Reading(ANSWER, (), "last value", last[-1].written)
        return self.declined(*self.lacks[-1]) if self.lacks else Reading(NONE, (), "", "")

    def declined(self, begin: int, end: int) -> Reading:
        return Reading(DECLINED, (), "decline", " ".join(self.said[begin:end].split()))

    def _stated(self, begin: int, end: int) -> str:
        """The number or list after `the answer is`, in its sentence or at the beginning of the next line."""
        said = self.said
        linked = list(cues.LINKED.finditer(said, begin, end))
        if (
            not linked
            or _INSTANCE.match(self.low, begin)
            or any(begin <= at < end for at, _ in self.declines)
        ):
            return ""
        at = linked[-1].end()
        blank = CLOSERS.match(said, at)
        below = blank is not None and "\n" in blank.group()
        if blank is not None and below:
            at = blank.end()
            end = min(len(said), said.find("\n", at) + 1 or len(said))
        if _STEP.match(said, at):
            return ""
        several = _LIST.match(said, at + len(said[at:end]) - len(said[at:end].lstrip()))
        if several and "," in several.group():
            return several.group()
        found = _numbers(said, at, end)
        equal = [one for one in found if said[at : one[0]].rstrip(" *$€£¥").endswith(("=", "≈"))]
        near = [one for one in found if said[at : one[0]].count(" ") <= _NEAR]
        if equal or near:
            return (equal[-1] if equal else near[0])[2]
        result = None if below else self._result(at, end)
        return result.written if result else ""

    def _result(self, begin: int, end: int) -> "_Result | None":
        """The number of a sentence's main clause, after its last link or equals sign, else its first."""
        low = self.low
        found = _numbers(self.said, begin, end)
        if not found or low[begin:end].rstrip().endswith("?"):
            return None
        if any(max(one[1] for one in found) + 1 < at < end for at, _ in self.lacks):
            return None
        aside = _ASIDE.search(low, found[0][1], end)
        found = [one for one in found if aside is None or one[0] < aside.start()]
        found = [one for one in found if not _before(_LIMIT, low, begin, one[0])]
        found = [one for one in found if not _before(_BOUND, low, begin, one[0])] or found
        if not found:
            return None
        linked = [
            one
            for one in found
            if _before(_AFTER_LINK, low, begin, one[0])
            and not (one[2].isalpha() and low.endswith(": ", 0, one[0]))
        ]
        concludes = cues.THEREFORE.search(low, begin, end) is not None
        return _Result((linked[-1] if linked else found[0])[2], bool(linked), concludes, begin)


class _Result:
    """written: the number of a sentence. linked: whether to the question. concludes: by a `therefore`."""

    __slots__ = ("begin", "concludes", "linked", "written")

    def __init__(self, written: str, linked: bool, concludes: bool, begin: int) -> None:
        self.written, self.linked, self.concludes, self.begin = written, linked, concludes, begin


def _sentences(said: str) -> list[tuple[int, int]]:
    """Start and end of each sentence; one that ends with a colon goes on in the next line."""
    ends = [0, *(match.end() for match in SENTENCE_END.finditer(said)), len(said)]
    found: list[tuple[int, int]] = []
    for start, end in pairwise(ends):
        if said[start:end].strip():
            colon = bool(found) and said[slice(*found[-1])].rstrip().endswith((":", "："))
            found[-1:] = [(found[-1][0], end)] if colon else [*found[-1:], (start, end)]
    return found


def _before(rule: re.Pattern[str], low: str, begin: int, at: int) -> bool:
    return rule.search(low, max(begin, at - 24), at) is not None


def _numbers(said: str, begin: int, end: int) -> list[tuple[int, int, str]]:
    """Start, end and text of each number, except those of steps, `the two`, `one of them` and `the 50s`."""
    found = []
    step = _STEP.match(said, begin, end)
    for start, close, _ in expressions(said, step.end() if step else begin, end, scaled=False):
        if not said.startswith(("s ", "s.", "s,"), close) and not _in_term(said, start, close):
            found.append((start, close, said[start:close]))
    words = [match.span() for match in WORD_NUMBER.finditer(said, begin, end)]
    found += [(*span, said[slice(*span)]) for span in words if _counts(said, begin, *span)]
    ratios = [match.span() for match in _RATIO.finditer(said, begin, end)]
    within = {at for span in ratios for at in range(*span)}
    return sorted(
        [one for one in found if one[0] not in within]
        + [(start, close, said[start:close]) for start, close in ratios]
    )


def _in_term(said: str, start: int, close: int) -> bool:
    """Whether a number is only a part of a formula: `2x`, `100 - x`, `sin(30)`."""
    if _TERM.match(said, close) or _before(_FUNCTION, said, 0, start):
        return True
    return said[max(0, start - 2) : start].strip()[-1:] in ("+", "-", "*", "^") and _before(
        _PRIOR, said, 0, start
    )


def _counts(said: str, begin: int, start: int, end: int) -> bool:
    """Whether a number word counts something."""
    if said[start:end].lower() == "one":
        return _before(_AFTER_LINK, said, begin, start) and not said.startswith(" of", end)
    return not _before(_SUCH, said, begin, start)
