"""Llama 3.2 Vision: the picture enters through layers of cross-attention, one token marks its place."""

import torch
from transformers import MllamaConfig, MllamaForConditionalGeneration

from tests.models.families.family import IMAGE, Family, Tensors, text

TILES = 4


def build() -> Family:
    vision = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_global_layers": 1,
        "attention_heads": 2,
        "image_size": 28,
        "patch_size": 14,
        "max_num_tiles": TILES,
        "vision_output_dim": 32 * 3,
        "intermediate_layers_indices": [0, 1],
        "supported_aspect_ratios": [[1, 1], [1, 2], [2, 1], [2, 2]],
    }
    decoder = text(
        num_hidden_layers=3,
        cross_attention_layers=[1],
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )
    config = MllamaConfig(vision_config=vision, text_config=decoder, image_token_index=IMAGE)
    return Family(MllamaForConditionalGeneration(config), 1, shown, beside=tiles_seen)


def shown(generator: torch.Generator) -> Tensors:
    return {
        "pixel_values": torch.randn((1, 1, TILES, 3, 28, 28), generator=generator),
        "aspect_ratio_ids": torch.tensor([[2]]),
        "aspect_ratio_mask": torch.tensor([[[1, 1, 0, 0]]]),
    }


def tiles_seen(ids: torch.Tensor, prompt: int) -> Tensors:
    """From the picture's place on, its two real tiles of four."""
    after = (ids == IMAGE).cumsum(dim=1)
    return {"cross_attention_mask": after[:, :, None, None] * torch.tensor([1, 1, 0, 0])}
