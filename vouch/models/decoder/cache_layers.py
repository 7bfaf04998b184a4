"""Layers of a model's cache, taken apart into rows and put together again."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch

from vouch.models.decoder.trie_masks import Unsupported

# Continuing a cache puts new tensors in their place and never writes in them, so rows may share memory.
_NEVER_WRITTEN = frozenset({"keys", "values"})


def row_of(layer: Any, row: int) -> Any:
    """One row of a layer, as a layer of its own in memory of its own."""
    return _changed(layer, lambda name, values: values[0][row : row + 1].clone(), [layer])


def join(layers: Sequence[Any]) -> Any:
    """Rows of one layer together; continuing it changes none of them."""
    if len(layers) > 1:
        return _changed(layers[0], lambda name, values: torch.cat(list(values)), layers)

    def alone(name: str, values: Sequence[torch.Tensor]) -> torch.Tensor:
        return values[0] if name in _NEVER_WRITTEN else values[0].clone()

    return _changed(layers[0], alone, layers)


def fresh(cache: Any) -> Any:
    """A cache that goes on from where another one is; continuing it does not change that one."""
    copied = copy.copy(cache)
    copied.layers = [join([layer]) for layer in cache.layers]
    return copied


def _changed(
    layer: Any, make: Callable[[str, Sequence[torch.Tensor]], torch.Tensor], layers: Sequence[Any]
) -> Any:
    """A copy of `layer` whose tensors of rows are made from those of `layers`."""
    for one in layers:
        _check_rows(one)
    changed = copy.copy(layer)
    for name, value in vars(layer).items():
        others = [getattr(one, name) for one in layers]
        if _has_rows(value):
            setattr(changed, name, make(name, others))
        elif isinstance(value, dict):
            made = {
                key: make(name, [one[key] for one in others]) if _has_rows(part) else part
                for key, part in value.items()
            }
            setattr(changed, name, made)
        elif isinstance(value, list) and value:
            raise _unknown(layer)
    return changed


def _check_rows(layer: Any) -> None:
    """Raises Unsupported where a tensor of one or two axes may hold something of each row."""
    tensors = [
        part
        for value in vars(layer).values()
        for part in (value.values() if isinstance(value, dict) else (value,))
        if isinstance(part, torch.Tensor)
    ]
    rows = {one.shape[0] for one in tensors if _has_rows(one)}
    if any(1 <= one.ndim <= 2 and one.shape[0] in rows for one in tensors):
        raise _unknown(layer)


def _unknown(layer: Any) -> Unsupported:
    return Unsupported(f"the model's cache layer {type(layer).__name__} is of an unknown kind")


def _has_rows(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.ndim >= 3
