"""Qwen2-VL: positions of time, height and width."""

from collections.abc import Callable

import torch
from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

from tests.models.families.family import IMAGE, VIDEO, WIDTH, Family, Tensors, text


def build() -> Family:
    config = Qwen2VLConfig(
        vision_config={"depth": 2, "embed_dim": 32, "hidden_size": WIDTH, "num_heads": 2},
        text_config=text(rope_parameters=rope(2, 3, 3)),
        image_token_id=IMAGE,
        video_token_id=VIDEO,
    )
    return Family(Qwen2VLForConditionalGeneration(config), 15, grid(14), beside=kinds)


def rope(*sections: int) -> dict[str, object]:
    return {"rope_type": "default", "mrope_section": list(sections), "rope_theta": 10000.0}


def grid(patch: int) -> Callable[[torch.Generator], Tensors]:
    """6 x 10 patches, of which 2 x 2 make one token."""

    def shown(generator: torch.Generator) -> Tensors:
        values = torch.randn((60, 3 * 2 * patch * patch), generator=generator)
        return {"pixel_values": values, "image_grid_thw": torch.tensor([[1, 6, 10]])}

    return shown


def kinds(ids: torch.Tensor, prompt: int) -> Tensors:
    return {"mm_token_type_ids": (ids == IMAGE).long()}
