"""ShareGPT4V by its authors' code.

program.code is a clone of ShareGPT4Omni/ShareGPT4V; program.parts.vision_tower is the folder of its own CLIP
tower.
"""

from __future__ import annotations

from typing import Any

from llava_family import LlavaFamily
from vouch_driver import Question

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
        from transformers import AutoTokenizer

        super().__init__(start)
        self.tokenizer = AutoTokenizer.from_pretrained(start.folder, use_fast=False, local_files_only=True)
        self.speak(conv_templates["vicuna_v1"], tokenizer_image_token, DEFAULT_IMAGE_TOKEN)

    def load(self) -> None:
        """See Model.load; as load_pretrained_model of share4v/model/builder.py does."""
        from share4v.model import Share4VConfig, Share4VLlamaForCausalLM
        from share4v.model.multimodal_encoder import clip_encoder
        from transformers import CLIPVisionConfig, CLIPVisionModel

        # the authors' code takes every tower for an EVA-CLIP whose path has "eva" in it
        clip_encoder.EvaCLIPVisionConfig, clip_encoder.EvaCLIPVisionModel = CLIPVisionConfig, CLIPVisionModel
        self.device, dtype = self.choose_device()
        config = Share4VConfig.from_pretrained(self.start.folder, local_files_only=True)
        config.mm_vision_tower = self.start.parts["vision_tower"]
        options = {"torch_dtype": dtype, "use_safetensors": True, "local_files_only": True}
        model = Share4VLlamaForCausalLM.from_pretrained(self.start.folder, config=config, **options)
        tower = model.get_vision_tower()
        tower.load_model()
        tower.to(dtype=dtype)
        self.model, self.images = model.to(self.device).eval(), tower.image_processor

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs; process_images pads an image to a square if config.json says so."""
        from PIL import Image
        from share4v.mm_utils import process_images

        given = super().inputs(question, prompt)
        if question.images:
            shown = [Image.open(path).convert("RGB") for path in question.images]
            pixels = process_images(shown, self.images, self.model.config)
            given["images"] = pixels.to(self.device, self.model.dtype)
        return given
