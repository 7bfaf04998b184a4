"""LLaVA 1.5: CLIP features in a Llama."""

from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

from tests.models.families.family import IMAGE, Family, noise, text, tower


def build() -> Family:
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**tower(), projection_dim=32),
        text_config=LlamaConfig(**text(num_key_value_heads=4)),
        image_token_index=IMAGE,
        vision_feature_layer=-2,
    )
    return Family(LlavaForConditionalGeneration(config), 16, noise(1, 3, 56, 56))
