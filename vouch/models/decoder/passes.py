"""Forward passes of a decoder: a prefix with its images once, then the tokens after it.

Relies on what all models of transformers have in common. What differs is read off the model (the
positions that its text decoder receives, the kinds of its cache layers), or is a hook in families.py.
"""

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from transformers import DynamicCache

from vouch.models.decoder.preparing import Prepared
from vouch.models.decoder.rows import PassRow
from vouch.models.families import family_of
from vouch.pipeline.errors import UserError


class Unsupported(UserError):
    """This model does not support a mode: reading a trie, or continuing a cache."""


# Continuing a cache replaces these tensors and never writes into them, so rows may share memory.
_NEVER_WRITTEN = frozenset({"keys", "values"})


def row_of(layer: Any, row: int) -> Any:
    """One row of a layer, copied into a layer of its own."""
    return _changed([layer], lambda name, values: values[0][row : row + 1].clone())


def join(layers: Sequence[Any]) -> Any:
    """The rows of one layer, joined; continuing the result changes none of them."""

    def joined(name: str, values: Sequence[torch.Tensor]) -> torch.Tensor:
        if len(values) > 1:
            return torch.cat(list(values))
        return values[0] if name in _NEVER_WRITTEN else values[0].clone()

    return _changed(layers, joined)


def fresh(cache: Any) -> Any:
    """A copy of a cache; continuing the copy does not change the original."""
    copied = copy.copy(cache)
    copied.layers = [join([layer]) for layer in cache.layers]
    return copied


def rows_of(cache: Any, rows: torch.Tensor) -> Any:
    """A cache of the rows [m] of another, in this order; continuing it does not change the other."""
    copied = copy.copy(cache)
    copied.layers = [
        _changed([layer], lambda _, values: values[0].index_select(0, rows.to(values[0].device)))
        for layer in cache.layers
    ]
    return copied


def _changed(layers: Sequence[Any], make: Callable[[str, Sequence[torch.Tensor]], torch.Tensor]) -> Any:
    """A layer whose per-row tensors are made from those of `layers`; everything else is the first one's.

    Raises Unsupported if another attribute may hold data of each row.
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


def on_device(value: torch.Tensor, model: Any, device: str) -> torch.Tensor:
    """A tensor on the model's device; floating-point tensors in the model's dtype."""
    return value.to(device, model.dtype if value.is_floating_point() else value.dtype)


def images_of(rows: Sequence[Mapping[str, torch.Tensor]], model: Any, device: str) -> dict[str, torch.Tensor]:
    """The images of all rows, by name of the argument."""
    joined = family_of(model.config).joined(rows)
    return {name: on_device(value, model, device) for name, value in joined.items()}


@dataclass(frozen=True)
class CachedRow:
    """A model's cache for one row: its layers, the number of tokens, the next position."""

    layers: tuple[Any, ...]
    length: int
    next: int


@dataclass(frozen=True)
class PassResult:
    """Result of a pass over r rows.

    logits  [r, n, vocabulary] float32 at the wanted positions; rows of the last projection beyond the
            tokenizer's vocabulary are padding and are cut off
    cache   of all rows, None if it was not wanted
    mask    [r, tokens of the cache] which tokens each row may attend to
    next    [r] the position after each row's last token
    """

    logits: torch.Tensor
    cache: Any | None
    mask: torch.Tensor
    next: torch.Tensor

    def of_rows(self, rows: torch.Tensor) -> "PassResult":
        """The result of the rows [m], in this order and perhaps several times, on a cache of their own."""
        return PassResult(self.logits[rows], rows_of(self.cache, rows), self.mask[rows], self.next[rows])


# These tell image tokens from text. After a prefix there is only text, so they are left out there.
TOKEN_KINDS = frozenset({"token_type_ids", "mm_token_type_ids"})


class Forward:
    """A loaded model. vocabulary: tokens of its tokenizer. pad: token that fills rows.

    positions: position ids that the text decoder received in the last pass, [r, t] or [3, r, t], None
    if it counts by itself. Raises UserError for a model with a text encoder.
    """

    def __init__(self, model: Any, device: str, vocabulary: int, pad: int) -> None:
        self.model, self.device, self._vocabulary, self._pad = model, device, vocabulary, pad
        self._config, self._family = model.config.get_text_config(), family_of(model.config)
        if model.config.is_encoder_decoder or self._config.is_encoder_decoder:
            raise UserError(
                f"{type(model).__name__} writes with a decoder of its own beside what it reads; "
                "only a model that goes on from its prompt can be asked in this way"
            )
        self._decoder = model.get_decoder()
        accepted = inspect.signature(type(model).forward).parameters
        self.token_kinds = frozenset(TOKEN_KINDS & accepted.keys())
        # Some models cannot be called without an image: their language model reads what follows the prefix.
        optional = "pixel_values" not in accepted or accepted["pixel_values"].default is None
        self._text_model = model if optional else model.language_model
        self._projects_all = "logits_to_keep" not in accepted
        self.positions: torch.Tensor | None = None

    @cached_property
    def _layer_kinds(self) -> set[str]:
        """Kinds of the layers of the text decoder, by its configuration."""
        given = getattr(self._config, "layer_types", None)
        sliding = getattr(self._config, "sliding_window", None) is not None
        return set(given or ["sliding_attention" if sliding else "full_attention"])

    def may_pad(self, tokens: int) -> bool:
        """Whether rows padded on the right can be continued, up to `tokens` with padding and answer.

        Padding pushes earlier tokens out of a sliding window, and enters a recurrent state.
        """
        if self._layer_kinds == {"full_attention"}:
            return True
        sliding = self._layer_kinds <= {"full_attention", "sliding_attention"}
        return sliding and tokens <= self._config.sliding_window

    def prefixes(self, rows: Sequence[Prepared]) -> list[CachedRow]:
        """The cache after the prefix of each row; all prefixes have one length."""
        length = rows[0].prefix
        ids = torch.tensor([row.ids[:length] for row in rows], device=self.device)
        cache = self._cache()
        self._run(
            self.model,
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
            **self._images(rows),
            **self._beside(rows, 0, length),
        )
        following = _after(self.positions, torch.full((len(rows),), length - 1, device=self.device))
        return [
            CachedRow(tuple(row_of(layer, row) for layer in cache.layers), length, int(following[row]))
            for row in range(len(rows))
        ]

    def logits(self, rows: Sequence[PassRow], states: Sequence[CachedRow] | None) -> torch.Tensor:
        """[r, n, vocabulary] float32 at the wanted positions of rows. states: after their prefixes."""
        if rows[0].mode == "trie" and states is not None:
            return self.tries(rows, states)
        return self.chains(rows, states).logits

    def chains(
        self, rows: Sequence[PassRow], states: Sequence[CachedRow] | None, keep: bool = False
    ) -> PassResult:
        """Each row's sequence, padded on the right. keep: return the cache, for decoding.

        With states the sequences follow them; without, they are whole prompts and images are shown.
        """
        prepared, length = [row.prepared for row in rows], rows[0].length
        ids = torch.full((len(rows), length), self._pad)
        mask = torch.zeros((len(rows), length), dtype=torch.long)
        for row, one in enumerate(rows):
            ids[row, : len(one.sequence)] = torch.tensor(one.sequence)
            mask[row, : len(one.sequence)] = 1
        ends = mask.sum(dim=1).to(self.device) - 1
        past = states[0].length if states else 0
        given: dict[str, Any] = self._beside(prepared, past, length)
        cache = None
        if states:
            starts = torch.tensor([state.next for state in states])
            given["position_ids"] = (starts[:, None] + torch.arange(length)).to(self.device)
            mask = torch.cat([torch.ones((len(rows), past), dtype=torch.long), mask], dim=1)
            cache = self._joined_cache(states)
        else:
            given |= self._images(prepared)
            cache = self._cache() if keep else None
        mask = mask.to(self.device)
        logits = self._run(
            self.model if prepared[0].shown and not states else self._text_model,
            input_ids=ids.to(self.device),
            attention_mask=mask,
            past_key_values=cache,
            use_cache=cache is not None,
            logits_to_keep=torch.tensor([row.wanted for row in rows], device=self.device),
            **given,
        )
        return PassResult(logits, cache if keep else None, mask, _after(self.positions, ends))

    def tries(self, rows: Sequence[PassRow], states: Sequence[CachedRow]) -> torch.Tensor:
        """The result of `logits`, for each row's trie after its state."""
        length = rows[0].length
        ids = torch.full((len(rows), length), self._pad)
        depths = torch.zeros((len(rows), length), dtype=torch.long)
        attends = torch.eye(length, dtype=torch.bool).repeat(len(rows), 1, 1)
        for row, trie in enumerate(row.trie for row in rows if row.trie is not None):
            count = len(trie)
            ids[row, :count] = torch.from_numpy(trie.tokens)
            depths[row, :count] = torch.from_numpy(trie.depths)
            attends[row, :count, :count] = torch.from_numpy(trie.attends)
        starts = torch.tensor([state.next for state in states])
        return self._run(
            self._text_model,
            input_ids=ids.to(self.device),
            attention_mask=self._trie_mask(attends, depths, states[0].length),
            position_ids=(starts[:, None] + depths).to(self.device),
            past_key_values=self._joined_cache(states),
            use_cache=True,
            logits_to_keep=torch.tensor([row.wanted for row in rows], device=self.device),
            **self._beside([row.prepared for row in rows], states[0].length, length, last=True),
        )

    def step(self, rows: Sequence[Prepared], tokens: torch.Tensor, read: PassResult) -> PassResult:
        """One further token [r] of every row after `read`, whose cache goes on."""
        mask = torch.cat([read.mask, torch.ones_like(read.mask[:, :1])], dim=1)
        logits = self._run(
            self._text_model,
            input_ids=tokens[:, None],
            attention_mask=mask,
            position_ids=read.next[:, None],
            past_key_values=read.cache,
            use_cache=True,
            logits_to_keep=1,
            **self._beside(rows, len(rows[0].ids) - 1, 1, last=True),
        )
        return PassResult(logits, read.cache, mask, read.next + 1)

    def _images(self, rows: Sequence[Prepared]) -> dict[str, torch.Tensor]:
        return images_of([row.shown for row in rows], self.model, self.device)

    def _beside(
        self, rows: Sequence[Prepared], past: int, length: int, last: bool = False
    ) -> dict[str, torch.Tensor]:
        """Tensors beside the `length` tokens after `past`; after the prompt, the values of its last token.

        last: all of the tokens come after the prompt.
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
                parts.append(torch.cat([following, self._family.beyond(name, beyond)], dim=1))
            beside[name] = on_device(torch.cat(parts), self.model, self.device)
        return beside

    def _trie_mask(self, attends: torch.Tensor, depths: torch.Tensor, past: int) -> Any:
        """The attention mask of tries after `past` tokens, one for each kind of layer if there are several.

        attends [r, n, n]: whether nodes attend to nodes. depths: [r, n]. Raises Unsupported for layers that
        read tokens in their order.
        """
        kinds = self._layer_kinds
        if not kinds <= {"full_attention", "sliding_attention"}:
            raise Unsupported(f"layers of kind {sorted(kinds)} need every token in its order")
        if "full_attention" not in kinds:
            raise Unsupported("a sliding window over all layers")
        masks = {}
        for kind in sorted(kinds):
            window = getattr(self._config, "sliding_window", None) if kind == "sliding_attention" else None
            mask = _attended(attends, depths, past, window)
            if self._config._attn_implementation != "sdpa":
                lowest = torch.finfo(self.model.dtype).min
                mask = torch.zeros(mask.shape, dtype=self.model.dtype).masked_fill(~mask, lowest)
            masks[kind] = mask[:, None].to(self.device)
        return masks if len(masks) > 1 else masks["full_attention"]

    def _cache(self) -> DynamicCache:
        return DynamicCache(config=self.model.config)

    def _joined_cache(self, states: Iterable[CachedRow]) -> DynamicCache:
        """The cache of all rows; updating it changes none of the states."""
        cache = self._cache()
        cache.layers = [join(layers) for layers in zip(*(state.layers for state in states), strict=True)]
        return cache

    def _run(self, network: Any, **given: Any) -> torch.Tensor:
        """Logits, float32."""

        def note(_module: Any, _inputs: Any, received: Mapping[str, Any]) -> None:
            self.positions = received.get("position_ids")

        keep = given.pop("logits_to_keep") if self._projects_all else None
        hook = self._decoder.register_forward_pre_hook(note, with_kwargs=True)
        try:
            output = network(**given)
        finally:
            hook.remove()
        logits: torch.Tensor = output.logits[..., : self._vocabulary]
        if isinstance(keep, torch.Tensor):
            logits = logits.gather(1, keep[..., None].expand(-1, -1, logits.shape[-1]))
        elif keep is not None:
            logits = logits[:, -keep:]
        return logits.float()


def _attended(attends: torch.Tensor, depths: torch.Tensor, past: int, window: int | None) -> torch.Tensor:
    """[r, n, kept + n] whether nodes attend to what a layer kept of `past` tokens, and to nodes.

    A sliding-window layer keeps at most window - 1 of the earlier tokens.
    """
    kept = past if window is None else min(past, window - 1)
    before = torch.ones((*attends.shape[:2], kept), dtype=torch.bool)
    attended = torch.cat([before, attends], dim=2)
    if window is not None:
        positions = torch.cat([torch.arange(-kept, 0).expand(len(depths), -1), depths], dim=1)
        attended &= depths[:, :, None] - positions[:, None] < window
    return attended


def _after(positions: torch.Tensor | None, ends: torch.Tensor) -> torch.Tensor:
    """[r] the position after the token at index `ends` of each row.

    If a token has several position ids (time, height, width), text continues after the largest so far.
    """
    if positions is None:
        return ends + 1
    if positions.ndim == 2:
        positions = positions[None]
    so_far = positions.expand(-1, len(ends), -1).amax(dim=0).cummax(dim=1).values
    return so_far.gather(1, ends[:, None])[:, 0] + 1
