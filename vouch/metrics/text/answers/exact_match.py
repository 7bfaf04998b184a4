"""exact_match: the text is a reference, but for case, spaces, outer punctuation and a leading article."""

from collections.abc import Sequence

from vouch.metrics.text.answers import References
from vouch.metrics.text.wording import plain

BOUNDED = True


def scores(texts: Sequence[str], references: References) -> list[float]:
    """[n] 1 or 0."""
    pairs = zip(texts, references, strict=True)
    return [float(plain(text) in {plain(one) for one in known}) for text, known in pairs]
