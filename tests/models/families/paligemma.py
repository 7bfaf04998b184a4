"""PaliGemma: the tokens of a picture see the question as well, so nothing can be shared."""

import torch
from transformers import (
    GemmaConfig,
    PaliGemmaConfig,
    PaliGemmaForConditionalGeneration,
    SiglipVisionConfig,
)

from tests.models.families.family import IMAGE, WIDTH, Family, Tensors, noise, text, tower


def build() -> Family:
    config = PaliGemmaConfig(
        vision_config=SiglipVisionConfig(**tower(), vision_use_head=False),
        text_config=GemmaConfig(**text(head_dim=16)),
        image_token_index=IMAGE,
        projection_dim=WIDTH,
        hidden_size=WIDTH,
        tie_word_embeddings=False,
    )
    return Family(PaliGemmaForConditionalGeneration(config), 16, noise(1, 3, 56, 56), "plain", kinds)


def kinds(ids: torch.Tensor, prompt: int) -> Tensors:
    """A prompt sees all of itself, an answer what came before."""
    return {"token_type_ids": (torch.arange(ids.shape[1]) >= prompt)[None].long()}
