"""Answers that name no option in its own words: `Plants may increase` for `plants increase`, `It is not the
maximum` for `no` to `Is it the maximum?`."""

import re
from itertools import pairwise

from vouch.metrics.text.parsers.marks import OPTION, Reading
from vouch.metrics.text.parsers.reader.context import SENTENCE_END
from vouch.metrics.text.parsers.reader.cues import AFFIRMING, CONCLUDES, CONDITION, any_of, phrases
from vouch.metrics.text.parsers.reader.options import Known
from vouch.metrics.text.parsers.reader.span import TEXT, Span
from vouch.metrics.text.parsers.reader.spans import Group

_WORD = re.compile(r"[^\W_]+(?:'t)?")
_PASSED = frozenset(phrases("small"))
_COMPARED = frozenset(phrases("comparative"))
_VERB = any_of(phrases("asks"))
_ASKS = re.compile(rf"{_VERB}\s", re.IGNORECASE)
_NEGATION = any_of(phrases("negation"))
# Where a denial begins (group 1) and ends: at punctuation, a contrast, in an aside at a verb (group 2).
_BOUNDS = re.compile(rf"({_NEGATION})|[,;:()—–]|{any_of(phrases('contrast'))}|({_VERB})")
_ASIDES = frozenset(phrases("aside_negation"))
_RELATIVE = re.compile(any_of(phrases("relative")) + r"\s(?:\w{1,8}\s)?$")
# Not in `but not on the right`, nor in `not on the right but on the left`.
_CONTRAST = re.compile(
    rf"{any_of(phrases('contrast'))}(?!\s{_NEGATION})(?!\s(?:(?!{_VERB})[^,;:()]){{0,80}}$)"
)
_COVERED = 0.8


def paraphrased(low: str, known: Known) -> list[Group]:
    """Where the words of an option stand in their order with nothing but small words between them."""
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
    """Yes or no to a question whose words a sentence repeats, each denied or not as in the question."""
    asked = question.strip().splitlines()[-1].lower() if question.strip() else ""
    asked = asked.rpartition(". ")[2] if not _ASKS.match(asked) else asked
    if not known.answers or not _ASKS.match(asked):
        return None
    affirmed, denied = _polar(asked)
    sought = affirmed | denied
    reading = None
    for sentence in _sentences(low)[:3]:
        said = set(_words(sentence))
        if sentence.endswith("?") or (sought ^ said) & _COMPARED or not sought:
            continue
        if CONDITION.match(sentence) or _CONTRAST.search(AFFIRMING.sub(" ", sentence)):
            continue
        yes, no = _polar(sentence)
        again = reading is None or CONCLUDES.search(sentence)
        if again and len(sought & (yes | no)) >= _COVERED * len(sought):
            turned = affirmed & (no - yes) or denied & (yes - no)
            place = known.answers[not turned]
            reading = Reading(OPTION, (place,), "statement of the question", " ".join(sentence.split()))
    return reading


def _polar(sentence: str) -> tuple[set[str], set[str]]:
    """The words that a sentence affirms, and those that it denies. Some are both: `the left side, not the
    right side`. A negation without words of its own denies those before it: `the cat is not`."""
    sentence = AFFIRMING.sub(" ", sentence)
    words: tuple[set[str], set[str]] = set(), set()
    clause: set[str] = set()
    at, denies, brief = 0, False, False
    for bound in (*_BOUNDS.finditer(sentence), None):
        end = bound.start() if bound else len(sentence)
        found = _words(sentence[at:end])
        if bound and bound[2] and denies and not (brief and found):
            continue  # a verb ends no more than an aside: `without handles is`, not `does not have`
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


def _words(text: str) -> tuple[str, ...]:
    return tuple(_stem(word) for word in _WORD.findall(text) if word not in _PASSED)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
