"""Answers that name no option in its own words: `Plants may increase` for `plants increase`, `It is not the
maximum` for `no` to `Is it the maximum?`."""

import re
from itertools import pairwise

from vouch.metrics.text.parsers.marks import OPTION, Reading
from vouch.metrics.text.parsers.reader.context import SENTENCE_END
from vouch.metrics.text.parsers.reader.cues import any_of, phrases
from vouch.metrics.text.parsers.reader.options import Known
from vouch.metrics.text.parsers.reader.span import TEXT, Span
from vouch.metrics.text.parsers.reader.spans import Group

_WORD = re.compile(r"[^\W_]+(?:'t)?")
_PASSED = frozenset(phrases("small"))
_COMPARED = frozenset(phrases("comparative"))
_NEGATION = re.compile(any_of(phrases("negation")))
_ASKS = re.compile(rf"{any_of(phrases('asks'))}\s", re.IGNORECASE)
_CONTRAST = re.compile(any_of(phrases("contrast")))
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
    """Yes or no to a question whose words a sentence repeats, with or without a negation."""
    asked = question.strip().splitlines()[-1].lower() if question.strip() else ""
    asked = asked.rpartition(". ")[2] if not _ASKS.match(asked) else asked
    if not known.answers or not _ASKS.match(asked):
        return None
    sought = set(_words(asked))
    for sentence in _sentences(low)[:3]:
        said = set(_words(sentence))
        if sentence.endswith("?") or _CONTRAST.search(sentence) or (sought ^ said) & _COMPARED:
            continue
        if sought and len(sought & said) >= _COVERED * len(sought):
            negated = (_NEGATION.search(sentence) is not None) != (_NEGATION.search(asked) is not None)
            return Reading(
                OPTION, (known.answers[not negated],), "statement of the question", " ".join(sentence.split())
            )
    return None


def _sentences(low: str) -> list[str]:
    ends = [0, *(match.end() for match in SENTENCE_END.finditer(low)), len(low)]
    return [one for start, end in pairwise(ends) if (one := low[start:end].strip())]


def _words(text: str) -> tuple[str, ...]:
    return tuple(_stem(word) for word in _WORD.findall(text) if word not in _PASSED)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
