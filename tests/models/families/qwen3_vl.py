"""Qwen3-VL: picture features enter several layers."""

from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

from tests.models.families.family import IMAGE, VIDEO, WIDTH, Family, text
from tests.models.families.qwen2_vl import grid, kinds, rope


def build() -> Family:
    vision = {
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_heads": 2,
        "out_hidden_size": WIDTH,
        "deepstack_visual_indexes": [0, 1],
        "num_position_embeddings": 64,
    }
    config = Qwen3VLConfig(
        vision_config=vision,
        text_config=text(head_dim=16, rope_parameters=rope(4, 2, 2) | {"mrope_interleaved": True}),
        image_token_id=IMAGE,
        video_token_id=VIDEO,
    )
    return Family(Qwen3VLForConditionalGeneration(config), 15, grid(16), beside=kinds)
