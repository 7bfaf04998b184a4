"""What a pass of a decoder gets beside its tokens: pictures, a value for each token, masks, caches."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from transformers import DynamicCache

from vouch.models.decoder.prepared import Prepared
from vouch.models.decoder.tries import Unsupported, trie_masks

# Continuing a cache puts new tensors in their place and never writes in them, so rows may share memory.
_NEVER_WRITTEN = frozenset({"keys", "values"})


def row_of(layer: Any, row: int) -> Any:
    """One row of a layer, as a layer of its own in memory of its own."""
    return _changed([layer], lambda name, values: values[0][row : row + 1].clone())


def join(layers: Sequence[Any]) -> Any:
    """Rows of one layer together; continuing it changes none of them."""

    def joined(name: str, values: Sequence[torch.Tensor]) -> torch.Tensor:
        if len(values) > 1:
            return torch.cat(list(values))
        return values[0] if name in _NEVER_WRITTEN else values[0].clone()

    return _changed(layers, joined)


def fresh(cache: Any) -> Any:
    """A cache that goes on from where another one is; continuing it does not change that one."""
    copied = copy.copy(cache)
    copied.layers = [join([layer]) for layer in cache.layers]
    return copied


def _changed(layers: Sequence[Any], make: Callable[[str, Sequence[torch.Tensor]], torch.Tensor]) -> Any:
    """A layer whose tensors of rows are made from those of `layers`; the rest is the first one's.

    Raises Unsupported where something else may hold a part of each row.
    """

    def made(name: str, values: Sequence[Any]) -> Any:
        if isinstance(values[0], dict):
            return {key: made(name, [one[key] for one in values]) for key in values[0]}
        return make(name, values) if _has_rows(values[0]) else values[0]

    for layer in layers:
        held = [
            part
            for one in vars(layer).values()
            for part in (one.values() if isinstance(one, dict) else [one])
        ]
        rows = {one.shape[0] for one in held if _has_rows(one)}
        small = [one for one in held if isinstance(one, torch.Tensor) and 1 <= one.ndim <= 2]
        if any(isinstance(one, list) and one for one in held) or any(one.shape[0] in rows for one in small):
            raise Unsupported(f"the model's cache layer {type(layer).__name__} is of an unknown kind")
    changed = copy.copy(layers[0])
    for name in vars(layers[0]):
        setattr(changed, name, made(name, [getattr(one, name) for one in layers]))
    return changed


def _has_rows(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.ndim >= 3


# Tell tokens of a picture from text; what follows a prefix is text, of which models need not be told.
TOKEN_KINDS = frozenset({"token_type_ids", "mm_token_type_ids"})


class Inputs:
    """Inputs of a loaded model, on its device."""

    def __init__(self, model: Any, device: str) -> None:
        self._model, self._device = model, device
        self._config = model.config.get_text_config()

    def _tensor(self, value: torch.Tensor) -> torch.Tensor:
        """A tensor where the model is, numbers with a fraction as the model has them."""
        return value.to(self._device, self._model.dtype if value.is_floating_point() else value.dtype)

    def shown(self, rows: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
        """The pictures of all rows, by name of the argument."""
        given = {name: [row[name] for row in rows] for name in rows[0]}
        if "image_token_pooling" in given:
            # Numbers of patches among all of a pass; -1 stands for none.
            count = rows[0]["pixel_values"].shape[:2].numel()
            given["image_token_pooling"] = [
                torch.where(value < 0, value, value + row * count)
                for row, value in enumerate(given["image_token_pooling"])
            ]
        axes = {"pixel_values": -1} if "target_sizes" in given else {}  # the patches of all in one row
        return {name: self._tensor(torch.cat(values, axes.get(name, 0))) for name, values in given.items()}

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
            beside[name] = self._tensor(torch.cat(parts))
        return beside

    def masks(self, attends: torch.Tensor, depths: torch.Tensor, past: int) -> Any:
        """The attention mask of tries (`trie_masks`), one for each kind of layer where there are several."""
        given = trie_masks(attends, depths, past, self._config)
        if self._config._attn_implementation != "sdpa":
            lowest = torch.finfo(self._model.dtype).min
            given = {
                kind: torch.zeros(attends.shape, dtype=self._model.dtype).masked_fill(~attends, lowest)
                for kind, attends in given.items()
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
