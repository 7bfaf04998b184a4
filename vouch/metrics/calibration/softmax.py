"""Softmax over the letters of a prompt, in the dtype of its logits."""

import numpy as np

from vouch.metrics.conformal.ordering import pieces
from vouch.metrics.responses import Floats


def softmax(logits: Floats) -> Floats:
    """exp(l - max) / sum over the letters [n, k]; a letter with -inf gets 0.

    The sum runs from the first letter to the last, as numpy sums a row of fewer than eight values,
    so that float32 results equal those of row-by-row code bit for bit.
    """
    weights = np.empty_like(logits, order="F")
    for piece in pieces(len(logits)):
        rows = logits[piece]
        part: Floats = np.exp(rows - rows.max(axis=1, keepdims=True))
        part /= part.sum(axis=1, keepdims=True)
        weights[piece] = part
    return weights
