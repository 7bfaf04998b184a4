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
_DIGITS = {"none": "0"} | {word: str(number) for number, word in enumerate(_NUMBERS)}
_ARTICLES = {"a", "an", "the"}
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_FULL_STOP = re.compile(r"\.(?!\d)")
# As in VQA's evaluation: what lacks one of its apostrophes gets it back, `dont` and `couldnt've` alike.
_SHORTENED = """
ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't
he'd he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am might've mightn't mightn't've must've
mustn't needn't not've o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've
somebody'd've somebody'll somebody's someone'd someone'd've someone'll someone's something'd
something'd've something'll that's there'd there'd've there're there's they'd they'd've they'll they're
they've 'twas wasn't we'd've we've weren't what'll what're what's what've when's where'd where's where've
who'd who'd've who'll who's who've why'll why're why's won't would've wouldn't wouldn't've y'all
y'all'd've y'all'll you'd you'd've you'll you're you've
"""
_CONTRACTIONS = {
    word[:at] + word[at + 1 :]: word
    for word in _SHORTENED.split()
    for at in range(len(word))
    if word[at] == "'"
} | {"somebody'd": "somebodyd"}


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
