"""Token sequences with common beginnings as one tree, so that a model reads each beginning once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vouch.pipeline.errors import UserError


@dataclass(frozen=True)
class Trie:
    """n nodes, every one after its parent.

    tokens, depths  [n] token and distance from the root (0 for a first token)
    attends         [n, n] whether a row's node attends to a column's: to itself and its ancestors
    paths           for every sequence its nodes, first token first
    """

    tokens: NDArray[np.int64]
    depths: NDArray[np.int64]
    attends: NDArray[np.bool_]
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
    attends = np.eye(len(tokens), dtype=bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            attends[node, : parent + 1] = attends[parent, : parent + 1]
    return Trie(np.array(tokens, dtype=np.int64), np.array(depths, dtype=np.int64), attends, tuple(paths))


class Unsupported(UserError):
    """This model does not support a mode: reading a trie, or continuing a cache."""


def layer_kinds(config: Any) -> set[str]:
    """Kinds of the layers of a text decoder, by its configuration."""
    given = getattr(config, "layer_types", None)
    sliding = getattr(config, "sliding_window", None) is not None
    return set(given or ["sliding_attention" if sliding else "full_attention"])


def trie_masks(
    attends: torch.Tensor, depths: torch.Tensor, past: int, config: Any
) -> dict[str, torch.Tensor]:
    """[r, n, kept + n] whether nodes attend to what a layer kept of `past` tokens, and to nodes.

    attends: [r, n, n] of the tries. depths: [r, n]. A sliding layer keeps less than its window of what
    came before. Raises Unsupported for layers that read tokens in their order.
    """
    kinds = layer_kinds(config)
    if not kinds <= {"full_attention", "sliding_attention"}:
        raise Unsupported(f"layers of kind {sorted(kinds)} need every token in its order")
    if "full_attention" not in kinds:
        raise Unsupported("a sliding window over all layers")
    window = getattr(config, "sliding_window", None)
    widths = {kind: window if kind == "sliding_attention" else None for kind in sorted(kinds)}
    return {kind: _mask(attends, depths, past, width) for kind, width in widths.items()}


def _mask(attends: torch.Tensor, depths: torch.Tensor, past: int, window: int | None) -> torch.Tensor:
    kept = past if window is None else min(past, window - 1)
    before = torch.ones((*attends.shape[:2], kept), dtype=torch.bool)
    allowed = torch.cat([before, attends], dim=2)
    if window is not None:
        places = torch.cat([torch.arange(-kept, 0).expand(len(depths), -1), depths], dim=1)
        allowed &= depths[:, :, None] - places[:, None] < window
    return allowed
