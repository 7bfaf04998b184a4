"""MobileVLM, V1 and V2, by its authors' code. program.parts.vision_tower is the folder of its CLIP tower."""

from __future__ import annotations

from typing import Any

from llava_family import LlavaFamily

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

        super().__init__(start)
        self.speak(conv_templates["v1"], tokenizer_image_token, DEFAULT_IMAGE_TOKEN)

    def load(self) -> None:
        """See Model.load; as load_pretrained_model, but in any dtype and on any device."""
        from mobilevlm.constants import DEFAULT_IMAGE_PATCH_TOKEN
        from mobilevlm.model.mobilellama import MobileLlamaForCausalLM, MobileVLMConfig

        config = MobileVLMConfig.from_pretrained(self.start.folder, local_files_only=True)
        # the tower of V2 was trained, too, and its weights are among the model's
        trained = "v2" in getattr(config, "mm_projector_type", "ldpnet")
        self.build(MobileLlamaForCausalLM, config, "load_image_processor" if trained else "load_model")
        if getattr(config, "mm_use_im_patch_token", True):
            self.tokenizer.add_tokens([DEFAULT_IMAGE_PATCH_TOKEN], special_tokens=True)
        self.model.resize_token_embeddings(len(self.tokenizer))

    def pixels(self, shown: list[Any]) -> dict[str, Any]:
        """See LlavaFamily.pixels."""
        from mobilevlm.utils import process_images

        made = process_images(shown, self.images, self.model.config)
        return {"images": made.to(self.device, self.model.dtype)}
