"""Beginnings in common are nodes in common, and a node attends to its ancestors only."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vouch.models.decoder.rows import build

SEQUENCES = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=6)


def test_two_branches() -> None:
    trie = build([[5, 6, 7], [5, 6, 8, 9], [5, 6]])
    assert trie.tokens.tolist() == [5, 6, 7, 8, 9]
    assert trie.depths.tolist() == [0, 1, 2, 2, 3]
    assert trie.paths == ((0, 1, 2), (0, 1, 3, 4), (0, 1))
    assert trie.attends.astype(int).tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 0, 1, 0],
        [1, 1, 0, 1, 1],
    ]


@given(SEQUENCES)
def test_every_sequence_is_a_path_that_sees_itself_alone(sequences: list[list[int]]) -> None:
    trie = build(sequences)
    assert len(trie) == len({tuple(one[: end + 1]) for one in sequences for end in range(len(one))})
    for sequence, path in zip(sequences, trie.paths, strict=True):
        assert trie.tokens[list(path)].tolist() == sequence
        assert trie.depths[list(path)].tolist() == list(range(len(sequence)))
        for depth, node in enumerate(path):
            assert np.flatnonzero(trie.attends[node]).tolist() == list(path[: depth + 1])
