"""lower_match: the text is a reference, but for case and spaces at its ends (OCR-VQA in VLMEvalKit).

Articles and punctuation count, which they do not for exact_match.
"""

from collections.abc import Sequence

from vouch.metrics.text.answers import References

BOUNDED = True


def scores(texts: Sequence[str], references: References) -> list[float]:
    """[n] 1 or 0."""
    pairs = zip(texts, references, strict=True)
    return [float(_lower(text) in {_lower(one) for one in known}) for text, known in pairs]


def _lower(text: str) -> str:
    return text.strip().lower()
