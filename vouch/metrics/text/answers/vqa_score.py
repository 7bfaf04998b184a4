"""vqa_score: min(1, matches / 3), each reference left out once, and the mean of that (Antol et al. 2015).

Made for ten references, one from each of ten people; equal ones stand for several people. A single reference
has nobody left when it is left out: then it is matched or not. Texts are normalised as VQA's evaluation does:
lower case, number words as digits, no articles, its rules of punctuation, apostrophes restored.
"""

import re
from collections.abc import Sequence

from vouch.metrics.text.answers.matching import References

ENOUGH = 3
_MARKS = ';/[]"{}()=+\\_-><@`,?!'
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS)}
_ARTICLES = {"a", "an", "the"}
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_FULL_STOP = re.compile(r"\.(?!\d)")
# What loses its apostrophe, by what follows the apostrophe.
_SHORTENED = {
    "n't": "ai are ca could did does do had has have is might must need ought should was were wo would",
    "'ve": "could i might must should they we who would you",
    "'s": "he how let that there what when where who why",
    "'re": "they what who why you",
    "'ll": "it they what who why you",
    "'d": "how it there they where who you",
}
_CONTRACTIONS = {
    f"{word}{end.replace(chr(39), '')}": f"{word}{end}"
    for end, words in _SHORTENED.items()
    for word in words.split()
} | {"im": "i'm", "maam": "ma'am", "oclock": "o'clock", "twas": "'twas", "yall": "y'all"}


def scores(texts: Sequence[str], references: References) -> list[float]:
    """[n] in 0 ... 1."""
    return [
        _score(normal(text), list(map(normal, known))) for text, known in zip(texts, references, strict=True)
    ]


def _score(text: str, known: list[str]) -> float:
    same = known.count(text)
    if len(known) == 1:
        return float(same)
    left_in = [min(1.0, (same - (one == text)) / ENOUGH) for one in known]
    return sum(left_in) / len(left_in)


def normal(text: str) -> str:
    """The text as VQA's evaluation compares it."""
    text = " ".join(text.lower().split())
    in_number = _COMMA_IN_NUMBER.search(text) is not None
    cleaned = text
    for mark in _MARKS:
        beside_space = f"{mark} " in text or f" {mark}" in text
        cleaned = cleaned.replace(mark, "" if beside_space or in_number else " ")
    words = (_DIGITS.get(word, word) for word in _FULL_STOP.sub("", cleaned).split())
    return " ".join(_CONTRACTIONS.get(word, word) for word in words if word not in _ARTICLES)
