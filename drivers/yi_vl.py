"""Yi-VL by its authors' code.

Its CLIP tower lies below vit/ in the model's folder; program.parts.vision_tower may name another place.
"""

from __future__ import annotations

from typing import Any

from llava_family import LlavaFamily
from vouch_driver import Question

ABOUT = {
    "repository": "01-ai/Yi",
    "commit": "f73194cc16e82df438bc01240b8e4b622209f3eb",
    "licence": "Apache-2.0",
    "folder": "VL",
    "environment": "llava",
    "models": {"kostumov": ["Yi-VL-6B", "Yi-VL-34B"]},
}


class Model(LlavaFamily):
    """See LlavaFamily."""

    def __init__(self, start: Any) -> None:
        from llava.conversation import conv_templates
        from llava.mm_utils import tokenizer_image_token
        from llava.model.constants import DEFAULT_IMAGE_TOKEN

        super().__init__(start)
        self.speak(conv_templates["mm_default"], tokenizer_image_token, DEFAULT_IMAGE_TOKEN)

    def load(self) -> None:
        """See Model.load; as load_pretrained_model of llava/mm_utils.py does."""
        from llava.model import LlavaConfig, LlavaLlamaForCausalLM
        from llava.model.constants import key_info

        key_info["model_path"] = self.start.folder  # where a tower with a relative path lies
        config = LlavaConfig.from_pretrained(self.start.folder, local_files_only=True)
        self.build(LlavaLlamaForCausalLM, config)
        self.model.resize_token_embeddings(len(self.tokenizer))

    def pixels(self, shown: list[Any]) -> dict[str, Any]:
        """See LlavaFamily.pixels; as single_inference.py prepares an image."""
        from llava.mm_utils import expand2square

        if getattr(self.model.config, "image_aspect_ratio", None) == "pad":
            mean = tuple(int(value * 255) for value in self.images.image_mean)
            shown = [expand2square(image, mean) for image in shown]
        made = self.images.preprocess(shown, return_tensors="pt")["pixel_values"]
        return {"images": made.to(self.device, self.model.dtype)}

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs; the authors' forward pass wants a mask."""
        import torch

        given = super().inputs(question, prompt)
        return {**given, "attention_mask": torch.ones_like(given["input_ids"], dtype=torch.bool)}
