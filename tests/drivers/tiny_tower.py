"""A tiny random CLIP tower with its image processor. Runs in a driver's environment."""

SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}


def save_tower(folder, side=28):
    """The tower, for images of side x side pixels in patches of 14 x 14, saved in a new folder."""
    from transformers import CLIPImageProcessor, CLIPVisionConfig, CLIPVisionModel

    config = CLIPVisionConfig(image_size=side, patch_size=14, **SIZE)
    CLIPVisionModel(config).save_pretrained(folder, safe_serialization=True)
    crop = {"height": side, "width": side}
    CLIPImageProcessor(size={"shortest_edge": side}, crop_size=crop).save_pretrained(folder)
