"""InternVL: a picture is several tiles in one go."""

from transformers import InternVLConfig, InternVLForConditionalGeneration, Qwen2Config

from tests.models.families.family import IMAGE, Family, noise, text, tower


def build() -> Family:
    config = InternVLConfig(
        vision_config=tower(image_size=[56, 56], patch_size=[14, 14]),
        text_config=Qwen2Config(**text()),
        image_token_id=IMAGE,
        image_seq_length=4,
        tie_word_embeddings=False,
    )
    return Family(InternVLForConditionalGeneration(config), 12, noise(3, 3, 56, 56))
