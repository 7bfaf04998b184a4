"""A tokenised question, and what a model asks of its inputs."""

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from vouch.images.processed_pictures import tensor_digest
from vouch.models.chat.letter_tokens import LetterIds
from vouch.models.requests.engine import Question


@dataclass(frozen=True)
class Prepared:
    """A tokenised question.

    ids            its tokens, places of pictures included
    prefix         how many of them end with the last place of a picture: 0 without pictures
    shown          tensors of the pictures; rows are joined along the first axis
    by_token       further tensors [1, len(ids), ...] that the model wants beside the tokens
    letters        tokens of its marks, None where it has none
    options        tokens of each option as a continuation, for a decoder of its own with the one that ends it
    prefill        tokens with which a decoder of its own begins the answer; elsewhere they are among `ids`
    """

    question: Question
    ids: tuple[int, ...]
    prefix: int
    shown: Mapping[str, torch.Tensor]
    by_token: Mapping[str, torch.Tensor]
    letters: LetterIds | None
    options: tuple[tuple[int, ...], ...]
    flags: tuple[str, ...] = ()
    prefill: tuple[int, ...] = ()

    @cached_property
    def shown_shape(self) -> Hashable:
        """What the pictures of rows in one forward pass must have in common."""
        return tuple((name, tuple(value.shape)) for name, value in sorted(self.shown.items()))

    @cached_property
    def prefix_digest(self) -> str:
        """Names what a model has read up to the end of the prefix."""
        digest = hashlib.sha256(repr(self.ids[: self.prefix]).encode())
        for name, value in sorted(self.shown.items()):
            digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
            digest.update(tensor_digest(value))
        return digest.hexdigest()


@dataclass(frozen=True)
class Needs:
    """What a model asks of its inputs.

    context: most tokens it reads, None if unlimited. image_token: stands where a picture's features go.
    indicators: tokens around it that stand for more than themselves beside a picture (Ovis 2).
    separate_decoder: it has a decoder of its own for what it says. qformer_context: most tokens of the text
    that a Q-Former reads, None where it reads none.
    """

    context: int | None = None
    image_token: int | None = None
    indicators: tuple[int, ...] = ()
    separate_decoder: bool = False
    qformer_context: int | None = None

    @classmethod
    def of(cls, config: Any) -> "Needs":
        """Those of a model, by its configuration."""
        text = config.get_text_config()
        named = (getattr(config, name, None) for name in ("image_token_id", "image_token_index"))
        return cls(
            context=getattr(text, "max_position_embeddings", None) or None,
            image_token=next((token for token in named if token is not None), None),
            indicators=tuple(getattr(config, "visual_indicator_token_ids", ())),
            separate_decoder=bool(text.is_encoder_decoder),
            qformer_context=getattr(getattr(config, "qformer_config", None), "max_position_embeddings", None),
        )
