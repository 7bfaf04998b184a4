"""LLaVA-OneVision: SigLIP tiles in a Qwen2."""

from transformers import (
    LlavaOnevisionConfig,
    LlavaOnevisionForConditionalGeneration,
    Qwen2Config,
    SiglipVisionConfig,
)

from tests.models.families.family import IMAGE, VIDEO, Family, text, tower
from tests.models.families.llava_next import tile_places, tiled


def build() -> Family:
    config = LlavaOnevisionConfig(
        vision_config=SiglipVisionConfig(**tower(), vision_use_head=False),
        text_config=Qwen2Config(**text()),
        image_token_index=IMAGE,
        video_token_index=VIDEO,
        image_grid_pinpoints=[[56, 112], [112, 56], [112, 112]],
        vision_feature_layer=-1,
    )
    model = LlavaOnevisionForConditionalGeneration(config).eval()
    return Family(model, tile_places(model), tiled)
