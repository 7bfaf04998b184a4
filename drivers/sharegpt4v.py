"""ShareGPT4V by its authors' code. program.parts.vision_tower is the folder of its own CLIP tower."""

from __future__ import annotations

from typing import Any

from llava_family import LlavaFamily

ABOUT = {
    "repository": "ShareGPT4Omni/ShareGPT4V",
    "commit": "b6f70e9ac74230e84d0f49fa9f9869eaa7d1c1a0",
    "licence": "Apache-2.0",
    "environment": "mplug_owl2",
    "models": {"tu": ["ShareGPT4V"]},
}


class Model(LlavaFamily):
    """See LlavaFamily."""

    def __init__(self, start: Any) -> None:
        from share4v.constants import DEFAULT_IMAGE_TOKEN
        from share4v.conversation import conv_templates
        from share4v.mm_utils import tokenizer_image_token

        super().__init__(start)
        self.speak(conv_templates["vicuna_v1"], tokenizer_image_token, DEFAULT_IMAGE_TOKEN)

    def load(self) -> None:
        """See Model.load; as load_pretrained_model of share4v/model/builder.py does."""
        from share4v.model import Share4VConfig, Share4VLlamaForCausalLM
        from share4v.model.multimodal_encoder import clip_encoder
        from transformers import CLIPVisionConfig, CLIPVisionModel

        # the authors' code takes every tower for an EVA-CLIP whose path has "eva" in it
        clip_encoder.EvaCLIPVisionConfig, clip_encoder.EvaCLIPVisionModel = CLIPVisionConfig, CLIPVisionModel
        config = Share4VConfig.from_pretrained(self.start.folder, local_files_only=True)
        self.build(Share4VLlamaForCausalLM, config)

    def pixels(self, shown: list[Any]) -> dict[str, Any]:
        """See LlavaFamily.pixels; process_images pads an image to a square if config.json says so."""
        from share4v.mm_utils import process_images

        made = process_images(shown, self.images, self.model.config)
        return {"images": made.to(self.device, self.model.dtype)}
