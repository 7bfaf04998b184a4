"""SmolVLM: Idefics3's layout in smaller."""

from transformers import LlamaConfig, SmolVLMConfig, SmolVLMForConditionalGeneration

from tests.models.families.family import IMAGE, Family, noise, text, tower


def build() -> Family:
    config = SmolVLMConfig(
        vision_config=tower(), text_config=LlamaConfig(**text()), image_token_id=IMAGE, scale_factor=2
    )
    return Family(SmolVLMForConditionalGeneration(config), 12, noise(1, 3, 3, 56, 56))
