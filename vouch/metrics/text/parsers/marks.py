"""Rules that look for the mark of an option in a generated text, and which spellings of a mark count as one.

letter  the text begins with a mark, with or without punctuation: `B`, `(b)`, `B.`, `B: a cat`, `**B**`,
        `Option B`; not `A cat` and not `A, B`
tail    where reasoning ends: `the answer is (B)`; the last such sentence counts. English, Chinese, Spanish,
        Portuguese, Japanese and Hebrew: the languages of WorldMedQA-V (Matos et al. 2024), and Chinese. A
        word for `option` and an article may stand between, and LaTeX's box around the mark
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from vouch.metrics.text.wording import wide

OPENING = r"[\s\"'`*_(\[{<“‘«「【]{0,8}"
CLOSED = r"(?=[ \t]{0,8}(?:$|\n)|[)\]}>.,;:!?\"'`*_”’»」】。、])"
"""What must follow a mark that could be a word or a number as well: `a`, `3`."""
Named = tuple[int, ...] | None
"""Places of options; see vouch/metrics/text/parsers/__init__.py."""
_WORDS = ("A", "I")
_REASONED = r"(?=\s{1,4}(?:because|since|as|due|given)\b|[⺀-鿿])"
_APART = r"(?![A-Za-zÀ-ɏ0-9]|['’][a-z])"
_WORD = r"(?:(?:option|choice|answer|letter|opción|opção|alternativa|letra|选项|選択肢|תשובה)[\s:]{1,4})?"
_CUES = (
    # English
    r"\b(?:answer|option|choice)(?:\s{1,4}\w{1,12}){0,4}\s{1,4}(?:is|would be|must be)\b",
    r"\b(?:answer|choice)\W{0,4}[:=]",
    r"\\boxed\s?(?=\{)",
    # Chinese
    r"(?:答案|选项|選項|选择|選擇)\s{0,4}(?:应该|應該|应)?(?:是|为|為|选|選|:)",
    r"(?:故|因此|所以|应|應|正确|正確)\s{0,4}(?:选|選)(?:择|擇)?",
    # Spanish, Portuguese
    r"\b(?:respuesta|opción|alternativa|resposta|opção)(?:\s{1,4}\w{1,12}){0,2}\s{1,4}(?:es|sería|é|seria)\b",
    r"\b(?:respuesta|resposta)(?:\s{1,4}\w{1,12}){0,2}\W{0,4}[:=]",
    # Japanese
    r"(?:答え|答|正解|正答|解答|回答)\s{0,4}(?:は|:)",
    # Hebrew
    r"תשובה(?:\s{1,4}הנכונה|\s{1,4}הסופית)?\s{0,4}(?:היא|הינה|[:\-])",
)
_BETWEEN = (
    r"(?:(?:the|la|el|a|o)\s{1,4})?"
    r"(?:(?:option|choice|letter|opción|letra|opção|alternativa|אפשרות|תשובה|סעיף)\b|选项|選項|選択肢)?"
)
_GAP = r"[\s:*_]{0,8}"


@dataclass(frozen=True)
class Choices:
    """marks: the letter before each option as shown. texts: of the options."""

    marks: tuple[str, ...]
    texts: tuple[str, ...]


@lru_cache
def pattern(marks: tuple[str, ...]) -> str:
    """A regular expression for any of the marks, in a group; no part of a word.

    Upper-case letters may stand before a word (`B is right`), unless they are words themselves (`A cat`, `I
    think`); other marks may not. Either case of a letter counts, whatever case was shown.
    """
    small = _any(mark.lower() for mark in marks)
    upper = [mark.upper() for mark in marks if mark.upper() != mark.lower()]
    words = _any(mark for mark in upper if mark in _WORDS)
    letters = _any(mark for mark in upper if mark not in _WORDS)
    return f"({letters}{_APART}|{words}(?:{CLOSED}|{_REASONED})|{small}{CLOSED})"


def _any(names: Iterable[str]) -> str:
    """One of the names; with none of them, nothing matches."""
    listed = "|".join(re.escape(name) for name in names)
    return f"(?:{listed})" if listed else "(?!)"


def place(mark: str, marks: tuple[str, ...]) -> int:
    """Index of a mark that was found, in either case."""
    return [known.lower() for known in marks].index(mark.lower())


@lru_cache
def _letter_rule(marks: tuple[str, ...]) -> re.Pattern[str]:
    mark = pattern(marks)
    another = rf"(?!\W{{1,8}}(?:(?:and|or|y|e|o)\b\W{{1,8}})?{mark.replace('(', '(?:', 1)})"
    return re.compile(rf"{OPENING}(?i:{_WORD}){OPENING}{mark}{CLOSED}{another}")


def letter(text: str, choices: Choices) -> Named:
    """The option whose mark opens the text."""
    found = _letter_rule(choices.marks).match(wide(text).strip()) if choices.marks else None
    return None if found is None else (place(found.group(1), choices.marks),)


@lru_cache
def _tail_rule(marks: tuple[str, ...]) -> re.Pattern[str]:
    boxed = r"(?:\\boxed\s?\{|\\text\s?\{|\$){0,3}"
    cues = "|".join(_CUES)
    return re.compile(rf"(?i:{cues}){_GAP}(?i:{_BETWEEN}){_GAP}{boxed}{OPENING}{pattern(marks)}")


def tail(text: str, choices: Choices) -> Named:
    """The option that the last of these sentences names."""
    named = _tail_rule(choices.marks).findall(wide(text)) if choices.marks else []
    return (place(named[-1], choices.marks),) if named else None
