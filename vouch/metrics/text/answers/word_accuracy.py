"""word_accuracy: share of the reference's words that stand in the text.

OCR as the paper of ReForm-Eval describes it (Li et al. 2023); the same as ocr_contains, which is its code,
where references are single words.
"""

from collections.abc import Sequence

from vouch.metrics.text.answers import References, best
from vouch.metrics.text.answers.ocr_contains import words

BOUNDED = True


def scores(texts: Sequence[str], references: References) -> list[float]:
    """[n] in 0 ... 1; 0 for a reference without a letter or digit."""
    return best(_share, texts, references)


def _share(text: str, reference: str) -> float:
    wanted, found = words(reference), set(words(text))
    return sum(word in found for word in wanted) / len(wanted) if wanted else 0.0
