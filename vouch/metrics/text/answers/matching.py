"""How well a text matches one reference: 0 ... 1."""

import re
from collections.abc import Sequence
from unicodedata import normalize

from rapidfuzz.distance import Levenshtein

from vouch.metrics.text.answers.reading import of_reference, of_text, same
from vouch.metrics.text.numbers import canonical, quantity, undressed, wide
from vouch.metrics.text.parsers.reader.open import phrase
from vouch.metrics.text.wording import plain

References = Sequence[Sequence[str]]
ANLS_THRESHOLD = 0.5
TOLERANCE = 0.05
LONG = 20
"""Words beyond which a number that stands in a text need not be its answer."""
_OF_A_NUMBER = r"(?<=\d)[^\w\s](?=\d)|(?<![\w.])[.](?=\d)|(?<![\w)])-(?=\.?\d)"
"""Punctuation that belongs to a number: 3.5, 1/2, 10:30, .5, -5."""
_BELONGS = re.compile(_OF_A_NUMBER)
_PUNCTUATION = re.compile(r"[^\w\s]|_")


def anls(text: str, reference: str) -> float:
    """1 - Levenshtein distance / length of the longer text, 0 where that distance is half the length or more
    (Biten et al. 2019). In lower case with single spaces; composed and decomposed accents are the same."""
    first, second = (" ".join(normalize("NFC", each.lower()).split()) for each in (text, reference))
    longer = max(len(first), len(second))
    if longer == 0:
        return 1.0
    # Beyond the cutoff the distance is too large; it bounds the work on a long text.
    distance = Levenshtein.distance(first, second, score_cutoff=int(ANLS_THRESHOLD * longer))
    return 1 - distance / longer if distance < ANLS_THRESHOLD * longer else 0.0


def exact_match(text: str, reference: str) -> float:
    """1 or 0: the same but for case, spaces, outer punctuation and a leading article, or what a longer text
    gives as its answer."""
    return float(plain(text) == plain(reference) or same(text, reference))


def lower_match(text: str, reference: str) -> float:
    """1 or 0: the same but for case and spaces at the ends; articles and punctuation count."""
    first, second = (normalize("NFC", each.strip().lower()) for each in (text, reference))
    return float(first == second)


def ocr_contains(text: str, reference: str) -> float:
    """1 or 0: a reference without a letter or digit is in no text, a number in a long one as its answer."""
    wanted, said = words(reference), words(text)
    contained = bool(wanted) and f" {' '.join(wanted)} " in f" {' '.join(said)} "
    if contained and len(said) > LONG and of_reference(reference) is not None:
        return float(same(text, reference))
    return float(contained)


def word_accuracy(text: str, reference: str) -> float:
    """Share of the reference's words in the text; 0 without a letter or digit in the reference.

    The same as ocr_contains where references are single words.
    """
    wanted, found = words(reference), set(words(text))
    return sum(word in found for word in wanted) / len(wanted) if wanted else 0.0


def relaxed_accuracy(text: str, reference: str) -> float:
    """1 or 0. `%` divides by 100; a reference that is 0 or no number needs the same text in lower case.

    A longer text counts by the number or the words that it gives as its answer.
    """
    found, wanted = _number(text), _number(reference)
    if not wanted:
        return max(lower_match(text, reference), float(plain(phrase(text)) == plain(reference)))
    stated = of_text(text) if found is None else None
    shares = [stated / 100] if stated is not None and ("%" in text or "percent" in text) else []
    known = [value for value in (found, stated, *shares) if value is not None]
    return float(any(abs(value - wanted) / abs(wanted) <= TOLERANCE for value in known))


def words(text: str) -> list[str]:
    """The words of a text in lower case, of letters and digits alone, and its numbers."""
    return [canonical(word) for word in _PUNCTUATION.sub(_kept, wide(text).lower()).split()]


def _kept(found: re.Match[str]) -> str:
    return found.group() if _BELONGS.match(found.string, found.start()) else ""


def _number(text: str) -> float | None:
    """A number with nothing but a percent sign."""
    found = quantity(undressed(text))
    if (
        found is None
        or found.unit not in ("", "%")
        or any(char.isalpha() for char in text.lower().replace("e", ""))
    ):
        return None
    return found.value / 100 if found.unit else found.value
