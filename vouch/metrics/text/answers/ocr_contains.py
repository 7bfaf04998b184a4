"""ocr_contains: the whole reference stands in the text, as words (OCR of ReForm-Eval's code, Li et al. 2023).

Only letters, digits and spaces count, in lower case.
"""

import re
from collections.abc import Sequence

from vouch.metrics.text.answers import References, best

BOUNDED = True


def scores(texts: Sequence[str], references: References) -> list[float]:
    """[n] 1 or 0; a reference without a letter or digit is in no text."""
    return best(_holds, texts, references)


def _holds(text: str, reference: str) -> float:
    wanted = " ".join(words(reference))
    return float(bool(wanted) and f" {wanted} " in f" {' '.join(words(text))} ")


def words(text: str) -> list[str]:
    """The words of a text, without other characters than letters and digits."""
    return re.sub(r"[^\w\s]|_", "", text.lower()).split()
