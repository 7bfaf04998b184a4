"""LLaVA-NeXT: pictures in tiles, a Mistral."""

import torch
from transformers import CLIPVisionConfig, LlavaNextConfig, LlavaNextForConditionalGeneration, MistralConfig

from tests.models.families.family import IMAGE, Family, Tensors, text, tower


def build() -> Family:
    config = LlavaNextConfig(
        vision_config=CLIPVisionConfig(**tower(), projection_dim=32),
        text_config=MistralConfig(**text(), sliding_window=None),
        image_token_index=IMAGE,
        image_grid_pinpoints=[[56, 112], [112, 56], [112, 112]],
        vision_feature_layer=-2,
    )
    model = LlavaNextForConditionalGeneration(config).eval()
    return Family(model, tile_places(model), tiled)


def tiled(generator: torch.Generator) -> Tensors:
    """A whole view and four tiles; the picture's size decides how many of their places are kept."""
    return {
        "pixel_values": torch.randn((1, 5, 3, 56, 56), generator=generator),
        "image_sizes": torch.tensor([[100, 112]]),
    }


@torch.no_grad()
def tile_places(model: object) -> int:
    """Tokens of a picture, as the model counts them."""
    features = model.get_image_features(**tiled(torch.Generator()), return_dict=True)  # type: ignore[attr-defined]
    return sum(len(part) for part in features.pooler_output)
