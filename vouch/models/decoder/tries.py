"""Token sequences with common beginnings as one tree, so that a model reads each beginning once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Trie:
    """n nodes, every one after its parent.

    tokens, depths  [n] token and distance from the root (0 for a first token)
    sees            [n, n] whether a row's node may look at a column's: at itself and its ancestors
    paths           for every sequence its nodes, first token first
    """

    tokens: NDArray[np.int64]
    depths: NDArray[np.int64]
    sees: NDArray[np.bool_]
    paths: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.tokens)


def build(sequences: Sequence[Sequence[int]]) -> Trie:
    """The tree of some token sequences, in their order."""
    tokens: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    children: dict[tuple[int, int], int] = {}
    paths = []
    for sequence in sequences:
        node, path = -1, []
        for depth, token in enumerate(sequence):
            child = children.setdefault((node, token), len(tokens))
            if child == len(tokens):
                tokens.append(token)
                parents.append(node)
                depths.append(depth)
            path.append(child)
            node = child
        paths.append(tuple(path))
    sees = np.eye(len(tokens), dtype=bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            sees[node, : parent + 1] = sees[parent, : parent + 1]
    return Trie(np.array(tokens, dtype=np.int64), np.array(depths, dtype=np.int64), sees, tuple(paths))
