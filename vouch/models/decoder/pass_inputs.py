"""What a pass of a decoder gets beside its tokens: pictures, a value for each token, masks, caches."""

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from transformers import DynamicCache

from vouch.models.decoder.preparing import Prepared
from vouch.models.decoder.tries import Unsupported, trie_masks

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


# Tell tokens of a picture from text; what follows a prefix is text, of which models need not be told.
TOKEN_KINDS = frozenset({"token_type_ids", "mm_token_type_ids"})


class Inputs:
    """Inputs of a loaded model, on its device."""

    def __init__(self, model: Any, device: str) -> None:
        self._model, self._device = model, device
        self._config = model.config.get_text_config()

    def tensor(self, value: torch.Tensor) -> torch.Tensor:
        """A tensor where the model is, numbers with a fraction as the model has them."""
        return value.to(self._device, self._model.dtype if value.is_floating_point() else value.dtype)

    def shown(self, rows: Sequence[Prepared]) -> dict[str, torch.Tensor]:
        """The pictures of all rows, by name of the argument."""
        return {name: self.tensor(torch.cat(_of_rows(rows, name))) for name in rows[0].shown}

    def beside(
        self, rows: Sequence[Prepared], past: int, length: int, last: bool = False
    ) -> dict[str, torch.Tensor]:
        """Tensors beside the `length` tokens after `past`, beyond a prompt as beside its last token.

        last: all of them beyond it.
        """
        beside = {}
        for name in rows[0].by_token:
            if past and name in TOKEN_KINDS:
                continue
            parts = []
            for row in rows:
                value = row.by_token[name]
                following = value[:, :0] if last else value[:, past : past + length]
                beyond = value[:, -1:].expand(-1, length - following.shape[1], *value.shape[2:])
                if name == "token_type_ids" and self._model.config.model_type == "paligemma":
                    beyond = torch.ones_like(beyond)  # an answer, which its prompt must not see
                parts.append(torch.cat([following, beyond], dim=1))
            beside[name] = self.tensor(torch.cat(parts))
        return beside

    def masks(self, sees: torch.Tensor, depths: torch.Tensor, past: int) -> Any:
        """The attention mask of tries (`trie_masks`), one for each kind of layer where there are several."""
        given = trie_masks(sees, depths, past, self._config)
        if self._config._attn_implementation != "sdpa":
            lowest = torch.finfo(self._model.dtype).min
            given = {
                kind: torch.zeros(sees.shape, dtype=self._model.dtype).masked_fill(~sees, lowest)
                for kind, sees in given.items()
            }
        masks = {kind: mask[:, None].to(self._device) for kind, mask in given.items()}
        return masks if len(masks) > 1 else masks["full_attention"]

    def cache(self) -> DynamicCache:
        """An empty one."""
        return DynamicCache(config=self._model.config)

    def joined(self, rows: Iterable[Sequence[Any]]) -> DynamicCache:
        """The cache of all rows, from each one's layers; updating it changes none of these."""
        cache = self.cache()
        cache.layers = [join(layers) for layers in zip(*rows, strict=True)]
        return cache


def _of_rows(rows: Sequence[Prepared], name: str) -> list[torch.Tensor]:
    values = [row.shown[name] for row in rows]
    if name != "image_token_pooling":
        return values
    # Numbers of patches among all of a pass; -1 stands for none.
    count = rows[0].shown["pixel_values"].shape[:2].numel()
    return [torch.where(value < 0, value, value + row * count) for row, value in enumerate(values)]
