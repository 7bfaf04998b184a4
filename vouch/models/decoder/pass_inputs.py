"""What a pass of a decoder gets beside its tokens: pictures, a value for each token, masks, caches."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from transformers import DynamicCache

from vouch.models.decoder.cache_layers import join
from vouch.models.decoder.prepared import Prepared
from vouch.models.decoder.trie_masks import trie_masks

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
