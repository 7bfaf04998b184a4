"""Idefics3: tiles along an axis of their own."""

from transformers import Idefics3Config, Idefics3ForConditionalGeneration, LlamaConfig

from tests.models.families.family import IMAGE, Family, noise, text, tower


def build() -> Family:
    config = Idefics3Config(
        vision_config=tower(), text_config=LlamaConfig(**text()), image_token_id=IMAGE, scale_factor=2
    )
    return Family(Idefics3ForConditionalGeneration(config), 12, noise(1, 3, 3, 56, 56))
