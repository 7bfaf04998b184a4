"""Gemma 3: most layers see a window only; the tokens of a picture see each other."""

import torch
from transformers import Gemma3Config, Gemma3ForConditionalGeneration, Gemma3TextConfig, SiglipVisionConfig

from tests.models.families.family import BEGIN, END, IMAGE, Family, Tensors, noise, text, tower


def build(window: int = 256) -> Family:
    decoder = text(
        num_hidden_layers=3,
        head_dim=16,
        query_pre_attn_scalar=16,
        sliding_window=window,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"],
    )
    config = Gemma3Config(
        vision_config=SiglipVisionConfig(**tower(), vision_use_head=False),
        text_config=Gemma3TextConfig(**decoder),
        mm_tokens_per_image=4,
        image_token_index=IMAGE,
        boi_token_index=BEGIN,
        eoi_token_index=END,
        tie_word_embeddings=False,
    )
    return Family(Gemma3ForConditionalGeneration(config), 16, noise(4, 3, 56, 56), beside=kinds)


def kinds(ids: torch.Tensor, prompt: int) -> Tensors:
    return {"token_type_ids": (ids == IMAGE).long()}
