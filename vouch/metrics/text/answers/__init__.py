"""Metrics of answers to open questions, one file each; `score.answers` says which a dataset has.

A file defines

scores(texts, references) -> [n] floats   of n generated texts against the references of each, at least one
BOUNDED                                   whether scores lie in 0 ... 1, so that a mean is an accuracy

Several references are alternatives unless the file says otherwise.
"""

from collections.abc import Callable, Sequence

References = Sequence[Sequence[str]]


def best(pair: Callable[[str, str], float], texts: Sequence[str], references: References) -> list[float]:
    """[n] the largest value of `pair(text, reference)` over a text's references."""
    return [max(pair(text, one) for one in known) for text, known in zip(texts, references, strict=True)]
