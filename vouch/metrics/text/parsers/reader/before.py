"""The word that stands before a place in a text, but for fillers."""

from vouch.metrics.text.numbers import BOX
from vouch.metrics.text.parsers.reader.cues import DENIALS, ENDS, LONGEST, SCRIPT, WORDS, names_answer

LINK, CHOOSE, NOT, WEAK, WORD, STOP, START = "link", "choose", "not", "weak", "word", "stop", "start"
"""Kinds of words."""
OPENERS = " \t\"'([{「『*_<"


def before(said: str, low: str, at: int, asked: bool = False) -> tuple[str, bool]:
    """The kind of the word that stands before, but for fillers, and whether a filler names an answer.

    asked: whether the question is what cannot be, so that `it cannot be B` is an answer.
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
        if last in ".,;!?。、)]}-–—":
            return _script(said, at)[0] or STOP, noun
        kind, begin = _script(said, at) if last >= SCRIPT else _word(low, at)
        if kind in (LINK, CHOOSE) and not asked and _denied(low, begin):
            return NOT, noun
        if kind != "filler":
            return kind or WORD, noun
        noun = noun or names_answer(low[begin:at])
        at = begin
    return WORD, noun


def _denied(low: str, at: int) -> bool:
    """Whether a negation stands before, but for two fillers: `cannot possibly be`, `no es`."""
    for _ in range(3):
        begin = low.rfind(" ", 0, at - 1) + 1
        word = low[begin : at - 1]
        if word in DENIALS:
            return low[at - 1] == " "
        if WORDS.get(word) != "filler":
            return False
        at = begin
    return False


def _script(said: str, at: int) -> tuple[str, int]:
    for ending, kind in ENDS:
        if said.endswith(ending, max(0, at - 8), at):
            return kind, at - len(ending)
    return "", at - 1


def _word(low: str, at: int) -> tuple[str, int]:
    """The kind of the longest phrase that ends here."""
    words = low[max(0, at - 40) : at].replace("\n", " ").split(" ")
    last = words[-1].lstrip("\"'([{*,")
    for count in range(min(LONGEST, len(words)), 1, -1):
        phrase = " ".join(words[-count:]).lstrip("\"'([{*,")
        if kind := WORDS.get(phrase):
            return kind, at - len(phrase)
    return WORDS.get(last) or (LINK if last.endswith("'s") else ""), at - len(last)
