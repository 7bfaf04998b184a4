"""BERTScore (Zhang et al. 2020): how well the tokens of two texts match, by what an encoder makes of them.

Plain: no weights by rarity, no rescaling. As in the authors' code the tokens that the tokenizer adds (at both
ends) may be matched, but do not count.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating]


@dataclass(frozen=True)
class Encoded:
    """What an encoder makes of a text.

    tokens [t, width], each of length 1; counted [t]: whether it is one of the text's own; mean [width]: of
    the tokens as the encoder gave them, all of them, of length 1.
    """

    tokens: Vectors
    counted: NDArray[np.bool_]
    mean: Vectors


def encoded(vectors: Vectors, counted: NDArray[np.bool_]) -> Encoded:
    """From the vectors of the tokens [t, width] as the encoder gives them."""
    return Encoded(_unit(vectors), counted, _unit(vectors.mean(axis=0)))


def f1(candidate: Encoded, reference: Encoded) -> float:
    """Harmonic mean of precision and recall, at most 1. Texts without tokens are like each other alone."""
    if not candidate.counted.any() or not reference.counted.any():
        return float(candidate.counted.any() == reference.counted.any())
    similarity = candidate.tokens @ reference.tokens.T
    precision = float(similarity.max(axis=1)[candidate.counted].mean(dtype=np.float64))
    recall = float(similarity.max(axis=0)[reference.counted].mean(dtype=np.float64))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def cosine(candidate: Encoded, reference: Encoded) -> float:
    """Of the texts' mean vectors, -1 ... 1."""
    return float(candidate.mean @ reference.mean)


def _unit(vectors: Vectors) -> Vectors:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, np.finfo(np.float32).tiny))
