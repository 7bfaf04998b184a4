"""Qwen2.5-VL: like Qwen2-VL, with windows in the vision tower."""

from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

from tests.models.families.family import IMAGE, VIDEO, WIDTH, Family, text
from tests.models.families.qwen2_vl import grid, kinds, rope


def build() -> Family:
    vision = {
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_heads": 2,
        "out_hidden_size": WIDTH,
        "fullatt_block_indexes": [1],
        "window_size": 56,
    }
    config = Qwen2_5_VLConfig(
        vision_config=vision,
        text_config=text(rope_parameters=rope(2, 3, 3)),
        image_token_id=IMAGE,
        video_token_id=VIDEO,
    )
    return Family(Qwen2_5_VLForConditionalGeneration(config), 15, grid(14), beside=kinds)
