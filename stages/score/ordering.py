"""Sorting the letters of each prompt by probability, ties as in the released scores.

numpy's default argsort is no stable sort: on rows this short it runs a fixed sorting network, and
logits in half precision tie often enough for that to move published set sizes. The network
below gives the same order on every machine.
"""

from functools import lru_cache

import numpy as np

from stages.score.responses import Bools, Floats

NETWORK_LETTERS = 8
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


def descending(values: Floats, carried: Bools) -> tuple[Floats, Bools]:
    """Both [n, k] arrays with each row in descending order of `values`.

    Up to eight letters: the reverse of numpy's argsort network, ties included. Above eight: the
    reverse of a stable ascending sort, so among equal values the later letter comes first.
    """
    letters = values.shape[1]
    if letters > NETWORK_LETTERS:
        order = np.argsort(values, axis=1, kind="stable")[:, ::-1]
        return np.take_along_axis(values, order, axis=1), np.take_along_axis(carried, order, axis=1)
    columns = [values[:, k] for k in range(letters)]
    marks = [carried[:, k] for k in range(letters)]
    for low, high in _comparators(letters):
        swap = columns[low] > columns[high]
        columns[low], columns[high] = (
            np.minimum(columns[low], columns[high]),
            np.maximum(columns[low], columns[high]),
        )
        swap &= marks[low] ^ marks[high]
        marks[low], marks[high] = marks[low] ^ swap, marks[high] ^ swap
    return np.array(columns[::-1]).T, np.array(marks[::-1]).T
