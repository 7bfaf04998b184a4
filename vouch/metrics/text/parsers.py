"""Rules that read an option out of a generated text, `PARSERS`; `score.parsers` says which are tried, in
order.

To add one, add an entry: parse(text, choices) -> Reading. If its verdict is NONE, the next parser is
tried. A rule never raises and takes time linear in the text. `reader` (vouch/metrics/text/reader) weighs
everything that a text says; the others are rules of published benchmarks and give no reason.
"""

import re
from collections.abc import Callable, Sequence

from vouch.metrics.text.reader.options import NONE, OPTION, Choices, Reading, opening
from vouch.metrics.text.reader.reader import read as weighed
from vouch.metrics.text.wording import as_written, wide

_MARK = re.compile(r"\(([1-9A-Za-z])\)")
_CUE = "Answer:"
_STRIPPED = (",", ".", "!", "?", ";", ":", "'")
_FEW_WORDS = 5
Named = tuple[int, ...] | None
"""Positions of the options that a text names, as shown; a position beyond the options is a wrong answer."""


def first_mark(text: str, choices: Choices) -> Named:
    r"""The option of the first `\([1-9A-Za-z]\)` anywhere in the text (ReForm-Eval, Li et al. 2023).

    A, a and 1 all mean the first option, whatever marks were shown. A mark beyond the options counts as
    an answer, and a wrong one.
    """
    match = _MARK.search(text)
    if match is None:
        return None
    mark = match.group(1)
    return (int(mark) - 1 if mark.isdigit() else ord(mark.upper()) - ord("A"),)


def contains(text: str, choices: Choices) -> Named:
    """Every option that the text contains, by its mark in brackets or its words, in the order shown (PARC).

    There a response is correct if it contains one or several correct answers, and wrong if it contains the
    answer of the original question that a variation flipped (Schmalfuss et al. 2025). Words
    inside a longer option's words do not count as the shorter option, nor 5 inside 3.5.
    """
    first = opening(text, choices)
    options = set() if first is None else {first}
    plain_text = wide(text)
    options |= {index for index, label in enumerate(choices.labels) if f"({label})" in plain_text}
    rest = f" {' '.join(plain_text.casefold().split())}"
    by_length = sorted(
        enumerate(map(as_written, choices.texts)), key=lambda option: (-len(option[1]), option[0])
    )
    for index, words in by_length:
        if words:
            before = r"(?<!\d[.,])(?<![\s(]\.)(?<!-)" if words[0].isdigit() else ""
            after = r"(?![.,]\d|\^\d)" if words[-1].isdigit() else ""
            sought = rf"(?<![^\W_]){before}{re.escape(words)}(?![^\W_]){after}"
            rest, times = re.subn(sought, "\0", rest)
            if times:
                options.add(index)
    return tuple(sorted(options)) or None


def mmmu(text: str, choices: Choices) -> Named:
    """The rule of the authors of MMMU-Pro (Yue et al. 2024), without their random guess.

    After the last `Answer:` the only option whose letter occurs; else letters in brackets, else letters
    before a space, else before a full stop, else, in texts of more than five words, option texts. After the
    first step the last of several wins; letters in words count, as in their code. If they guess at random,
    the text has no answer.
    """
    cue = text.rfind(_CUE)
    if cue >= 0:
        tail = text[cue + len(_CUE) :]
        after = [index for index, label in enumerate(choices.labels) if label in tail]
        if len(after) == 1:
            return (after[0],)
    for character in _STRIPPED:
        text = text.strip(character)
    text = f" {text} "
    for sought, ranked in (("({})", "({})"), ("{} ", " {} "), ("{}.", " {} ")):
        option = _last(text, choices.labels, sought.format, ranked.format)
        if option is not None:
            return (option,)
    if len(text.split()) > _FEW_WORDS:
        option = _last(text.lower(), choices.texts, str.lower, str.lower)
        if option is not None:
            return (option,)
    return None


def _last(
    text: str, names: tuple[str, ...], sought: Callable[[str], str], ranked: Callable[[str], str]
) -> int | None:
    """Of the names whose sought form occurs, the one whose ranked form occurs last; the first of equals."""
    there = [index for index, name in enumerate(names) if sought(name) in text]
    return max(there, key=lambda index: text.rfind(ranked(names[index])), default=None)


READER = "reader"
DEFAULT_PARSERS = (READER,)


def _of(rule: Callable[[str, Choices], Named]) -> Callable[[str, Choices], Reading]:
    """A published rule as a parser: the options that it names are the answer, even if there are several."""

    def parse(text: str, choices: Choices) -> Reading:
        places = rule(text, choices)
        return Reading(NONE) if places is None else Reading(OPTION, places)

    return parse


PARSERS: dict[str, Callable[[str, Choices], Reading]] = {
    "contains": _of(contains),
    "first_mark": _of(first_mark),
    "mmmu": _of(mmmu),
    READER: weighed,
}


def read(text: str, choices: Choices, parsers: Sequence[str]) -> tuple[str, Reading]:
    """The first parser that finds an answer (if none does, the last parser), and its reading."""
    name, reading = "", Reading(NONE)
    for name in parsers:
        reading = PARSERS[name](text, choices)
        if reading.verdict != NONE:
            break
    return name, reading
