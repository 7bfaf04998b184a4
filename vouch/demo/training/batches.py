"""Tensors of one training step: several questions about one picture share a row.

A row is the picture and then its questions one after another. A mask keeps each question from seeing
the others, and positions restart after the picture, so that every question is computed exactly as if
it stood alone. The picture is then computed once for all its questions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vouch.demo.training.writing import Example

IGNORED = -100  # the target that torch's cross entropy leaves out


@dataclass(frozen=True)
class Batch:
    """B rows of T tokens.

    tokens, positions [B, T]; mask [B, 1, T, T], added to the attention scores.
    targets [B, T]: the token that position t should predict, within answers only.
    contents [B, T]: first token of the answer's text, where the answer's first token is predicted.
    options [B, T]: 1 at the last token of a right option, 0 of a wrong one.
    Elsewhere targets, contents and options are IGNORED.
    """

    tokens: Tensor
    positions: Tensor
    mask: Tensor
    targets: Tensor
    contents: Tensor
    options: Tensor


def pack(opening: Sequence[int], rows: Sequence[Sequence[Example]], padding: int) -> Batch:
    """Rows of examples as one batch, each row after the same opening (empty without pictures)."""
    start = len(opening)
    shape = (len(rows), start + max(sum(len(example.tokens) for example in row) for row in rows))
    tokens, positions = np.full(shape, padding), np.zeros(shape, dtype=np.int64)
    targets, contents, options = (np.full(shape, IGNORED) for _ in range(3))
    owner = np.full(shape, -1)  # 0: the opening; 1, 2, ...: the examples; -1: padding
    tokens[:, :start], positions[:, :start], owner[:, :start] = opening, np.arange(start), 0
    for b, row in enumerate(rows):
        begin = start
        for number, example in enumerate(row, start=1):
            end, reply = begin + len(example.tokens), begin + example.says_at
            tokens[b, begin:end] = example.tokens
            positions[b, begin:end] = np.arange(start, start + len(example.tokens))
            owner[b, begin:end] = number
            targets[b, reply - 1 : end - 1] = tokens[b, reply:end]
            contents[b, reply - 1] = example.content
            for place, right in example.options:
                options[b, begin + place] = right
            begin = end
    arrays = (tokens, positions, _mask(owner), targets, contents, options)
    return Batch(*(torch.from_numpy(array) for array in arrays))


def _mask(owner: np.ndarray) -> np.ndarray:
    """[B, 1, T, T] float32: 0 where a token may look, the lowest number where it may not."""
    same = owner[:, :, None] == owner[:, None, :]
    visible = (same | (owner == 0)[:, None, :]) & np.tri(owner.shape[1], dtype=bool)
    return np.where(visible, np.float32(0), np.finfo(np.float32).min)[:, None]
