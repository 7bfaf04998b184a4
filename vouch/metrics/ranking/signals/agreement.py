"""agreement: share of the samples that are the greedy text, but for case, spaces and outer punctuation."""

from collections.abc import Sequence

from vouch.metrics.text.wording import plain


def per_sample(text: str, samples: Sequence[str]) -> float:
    """0 ... 1."""
    said = plain(text)
    return sum(plain(sample) == said for sample in samples) / len(samples)
