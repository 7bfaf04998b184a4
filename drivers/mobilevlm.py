"""MobileVLM, V1 and V2, by its authors' code.

program.code is a clone of Meituan-AutoML/MobileVLM; program.parts.vision_tower is the folder of its CLIP
tower.
"""

from __future__ import annotations

from typing import Any

from llava_family import LlavaFamily
from vouch_driver import Question

ABOUT = {
    "repository": "Meituan-AutoML/MobileVLM",
    "commit": "688fdec914810485c8766da96c63d9d2ce15f750",
    "licence": "Apache-2.0",
    "environment": "mobilevlm",
    "models": {
        "kostumov": [
            "MobileVLM-1.7B",
            "MobileVLM-3B",
            "MobileVLM_V2-1.7B",
            "MobileVLM_V2-3B",
            "MobileVLM_V2-7B",
        ]
    },
}


class Model(LlavaFamily):
    """See LlavaFamily."""

    def __init__(self, start: Any) -> None:
        from mobilevlm.constants import DEFAULT_IMAGE_TOKEN
        from mobilevlm.conversation import conv_templates
        from mobilevlm.utils import tokenizer_image_token
        from transformers import AutoTokenizer

        super().__init__(start)
        self.tokenizer = AutoTokenizer.from_pretrained(start.folder, use_fast=False, local_files_only=True)
        self.speak(conv_templates["v1"], tokenizer_image_token, DEFAULT_IMAGE_TOKEN)

    def load(self) -> None:
        """See Model.load; as load_pretrained_model, but in any dtype and on any device."""
        from mobilevlm.constants import DEFAULT_IMAGE_PATCH_TOKEN
        from mobilevlm.model.mobilellama import MobileLlamaForCausalLM, MobileVLMConfig

        self.device, dtype = self.choose_device()
        config = MobileVLMConfig.from_pretrained(self.start.folder, local_files_only=True)
        config.mm_vision_tower = self.start.parts["vision_tower"]
        options = {"torch_dtype": dtype, "local_files_only": True}
        model = MobileLlamaForCausalLM.from_pretrained(self.start.folder, config=config, **options)
        if getattr(config, "mm_use_im_patch_token", True):
            self.tokenizer.add_tokens([DEFAULT_IMAGE_PATCH_TOKEN], special_tokens=True)
        model.resize_token_embeddings(len(self.tokenizer))
        tower = model.get_vision_tower()
        if "v2" in getattr(config, "mm_projector_type", "ldpnet"):
            tower.load_image_processor()  # its weights are among the model's
        elif not tower.is_loaded:
            tower.load_model()
        tower.to(dtype=dtype)
        self.model, self.images = model.to(self.device).eval(), tower.image_processor

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs."""
        from mobilevlm.utils import process_images
        from PIL import Image

        given = super().inputs(question, prompt)
        if question.images:
            shown = [Image.open(path).convert("RGB") for path in question.images]
            made = process_images(shown, self.images, self.model.config)
            given["images"] = made.to(self.device, self.model.dtype)
        return given
