"""InstructBLIP with a Llama: the queries read the question along with the picture."""

import torch
from transformers import InstructBlipConfig, InstructBlipForConditionalGeneration, LlamaConfig

from tests.models.families.blip_2 import QUERIES, queries
from tests.models.families.family import IMAGE, Family, Tensors, text, tower


def build() -> Family:
    config = InstructBlipConfig(
        vision_config=tower(),
        qformer_config=queries(),
        text_config=LlamaConfig(**text()).to_dict(),
        num_query_tokens=QUERIES,
        image_token_index=IMAGE,
    )
    return Family(InstructBlipForConditionalGeneration(config), QUERIES, shown)


def shown(generator: torch.Generator) -> Tensors:
    asked = torch.randint(0, 100, (1, 7), generator=generator)
    return {
        "pixel_values": torch.randn((1, 3, 56, 56), generator=generator),
        "qformer_input_ids": asked,
        "qformer_attention_mask": torch.ones_like(asked),
    }
