"""Sorting the letters of each prompt by probability, ties as in the released scores.

numpy's default argsort is no stable sort: on rows this short it runs a fixed sorting network, and
logits in half precision tie often enough for that to move published set sizes. The network
below gives the same order on every machine.
"""

from functools import lru_cache
from typing import TypeVar

import numpy as np

from vouch.metrics.responses import Floats

Marks = TypeVar("Marks", bound=np.ndarray)

NETWORK_LETTERS = 8
ROWS = 1 << 14
"""Rows a piece: its arrays stay in the processor's cache, and memory stays flat."""
STAGES = (
    ((0, 1), (2, 3), (4, 5), (6, 7)),
    ((0, 3), (1, 2), (4, 7), (5, 6)),
    ((0, 1), (2, 3), (4, 5), (6, 7)),
    ((0, 7), (1, 6), (2, 5), (3, 4)),
    ((0, 2), (1, 3), (4, 6), (5, 7)),
    ((0, 1), (2, 3), (4, 5), (6, 7)),
)


@lru_cache
def _comparators(letters: int) -> tuple[tuple[int, int], ...]:
    # Fewer than eight values are padded at the end with +inf; comparators that touch a pad never swap.
    return tuple(pair for stage in STAGES for pair in stage if pair[1] < letters)


def pieces(count: int) -> list[slice]:
    """Consecutive slices of ROWS rows."""
    return [slice(start, min(start + ROWS, count)) for start in range(0, count, ROWS)]


def descending(values: Floats, carried: Marks) -> tuple[Floats, Marks]:
    """Both [n, k] arrays with each row in descending order of `values`; `carried`: bool or unsigned numbers.

    Up to eight letters: the reverse of numpy's argsort network, ties included. Above eight: the
    reverse of a stable ascending sort, so among equal values the later letter comes first.
    """
    ranked, marks = np.empty_like(values, order="F"), np.empty_like(carried, order="F")
    for piece in pieces(len(values)):
        _sort(values[piece], carried[piece], ranked[piece], marks[piece])
    return ranked, marks


def _sort(values: Floats, carried: np.ndarray, ranked: Floats, sorted_marks: np.ndarray) -> None:
    """Writes both in descending order to `ranked` and `sorted_marks`."""
    letters = values.shape[1]
    if letters > NETWORK_LETTERS:
        order = np.argsort(values, axis=1, kind="stable")[:, ::-1]
        ranked[:] = np.take_along_axis(values, order, axis=1)
        sorted_marks[:] = np.take_along_axis(carried, order, axis=1)
        return
    columns = [values[:, k] for k in range(letters)]
    marks = [carried[:, k] for k in range(letters)]
    for low, high in _comparators(letters):
        swap = columns[low] > columns[high]
        columns[low], columns[high] = (
            np.minimum(columns[low], columns[high]),
            np.maximum(columns[low], columns[high]),
        )
        moved = (marks[low] ^ marks[high]) * swap
        marks[low], marks[high] = marks[low] ^ moved, marks[high] ^ moved
    for rank in range(letters):
        ranked[:, rank], sorted_marks[:, rank] = columns[-1 - rank], marks[-1 - rank]
