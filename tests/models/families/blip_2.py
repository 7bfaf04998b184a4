"""BLIP-2 with OPT: a few queries read the picture."""

from transformers import Blip2Config, Blip2ForConditionalGeneration, OPTConfig

from tests.models.families.family import IMAGE, Family, noise, text, tower

QUERIES = 6


def queries() -> dict[str, object]:
    """Settings of the small model that turns a picture into QUERIES tokens."""
    return {
        "vocab_size": 100,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "encoder_hidden_size": 32,
    }


def build() -> Family:
    given = text(ffn_dim=128, word_embed_proj_dim=64)
    config = Blip2Config(
        vision_config=tower(),
        qformer_config=queries(),
        text_config=OPTConfig(**given).to_dict(),
        num_query_tokens=QUERIES,
        image_token_index=IMAGE,
    )
    return Family(Blip2ForConditionalGeneration(config), QUERIES, noise(1, 3, 56, 56))
