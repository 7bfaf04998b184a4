"""Qwen3.5: most layers carry a recurrent state, which reads tokens in their order."""

from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration

from tests.models.families.family import IMAGE, VIDEO, WIDTH, Family, text
from tests.models.families.qwen2_vl import grid, kinds


def build() -> Family:
    vision = {
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_heads": 2,
        "out_hidden_size": WIDTH,
        "num_position_embeddings": 64,
    }
    decoder = text(
        head_dim=16,
        layer_types=["linear_attention", "full_attention"],
        linear_num_value_heads=4,
        linear_num_key_heads=2,
        linear_key_head_dim=16,
        linear_value_head_dim=16,
    )
    config = Qwen3_5Config(
        vision_config=vision, text_config=decoder, image_token_id=IMAGE, video_token_id=VIDEO
    )
    return Family(Qwen3_5ForConditionalGeneration(config), 15, grid(16), "batch", kinds)
