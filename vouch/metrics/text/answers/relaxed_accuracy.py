"""relaxed_accuracy: a number within 5 % of the reference, else the same text (ChartQA, Masry et al. 2022).

`%` divides by 100. A reference that is 0 or no number needs the same text in lower case.
"""

import re
from collections.abc import Sequence

from vouch.metrics.text.answers import References, best

BOUNDED = True
TOLERANCE = 0.05
_NUMBER = re.compile(r"[+-]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eE][+-]?\d{1,3})?%?", re.ASCII)


def scores(texts: Sequence[str], references: References) -> list[float]:
    """[n] 1 or 0."""
    return best(_close, texts, references)


def _close(text: str, reference: str) -> float:
    found, wanted = _number(text), _number(reference)
    if found is not None and wanted:
        return float(abs(found - wanted) / abs(wanted) <= TOLERANCE)
    return float(text.strip().lower() == reference.strip().lower())


def _number(text: str) -> float | None:
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)
