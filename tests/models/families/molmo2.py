"""Molmo 2: patches are pooled into tokens as the processor says."""

import torch
from transformers import Molmo2Config, Molmo2ForConditionalGeneration

from tests.models.families.family import (
    BEGIN,
    END,
    FRAME,
    FRAME_END,
    HEADS,
    IMAGE,
    LOW,
    ROWS,
    WIDTH,
    Family,
    Tensors,
)
from tests.models.families.qwen2_vl import kinds


def build() -> Family:
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16}
    vision = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "image_size": [56, 56],
        "num_position_embeddings": 16,
    }
    adapter = {"vision_feature_layer": [-1, -2], "hidden_size": 32, "intermediate_size": 64}
    decoder = {
        "hidden_size": WIDTH,
        "num_attention_heads": HEADS,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "vocab_size": ROWS - 20,
        "additional_vocab_size": 20,
        "num_hidden_layers": 2,
        "intermediate_size": 2 * WIDTH,
        "max_position_embeddings": 512,
    }
    config = Molmo2Config(
        vision_config=vision | heads,
        adapter_config=adapter | heads | {"text_hidden_size": WIDTH},
        text_config=decoder,
        image_patch_id=IMAGE,
        image_start_token_id=BEGIN,
        low_res_image_start_token_id=LOW,
        image_end_token_id=END,
        frame_start_token_id=FRAME,
        frame_end_token_id=FRAME_END,
    )
    return Family(Molmo2ForConditionalGeneration(config), 4, shown, beside=kinds)


def shown(generator: torch.Generator) -> Tensors:
    """4 x 4 patches, of which 2 x 2 make one token."""
    pools = torch.arange(16).reshape(2, 2, 2, 2).permute(0, 2, 1, 3).reshape(4, 4)
    return {
        "pixel_values": torch.randn((1, 16, 14 * 14 * 3), generator=generator),
        "image_token_pooling": pools,
        "image_grids": torch.tensor([[2, 2, 0, 0]]),
        "image_num_crops": torch.tensor([1]),
    }
