"""Models of LLaVA's own repository: the first LLaVA and others of its code that transformers does not load.

program.code is a clone of haotian-liu/LLaVA; program.parts.vision_tower is the folder of its CLIP tower.
Settings:

    conversation  name of LLaVA's conv_templates; vicuna_v1
    im_start_end  true for checkpoints that mark the beginning and the end of an image
"""

from __future__ import annotations

from typing import Any

from llava_family import LlavaFamily
from vouch_driver import Question

ABOUT = {
    "repository": "haotian-liu/LLaVA",
    "commit": "c121f0432da27facab705978f83c4ada465e46fd",
    "licence": "Apache-2.0",
    "environment": "llava",
    "models": {"reform": ["LLaVA (Vicuna)", "LLaVA (LLaMA2)"]},
}


class Model(LlavaFamily):
    """See LlavaFamily."""

    def __init__(self, start: Any) -> None:
        from llava.constants import DEFAULT_IM_END_TOKEN, DEFAULT_IM_START_TOKEN, DEFAULT_IMAGE_TOKEN
        from llava.conversation import conv_templates
        from llava.mm_utils import tokenizer_image_token
        from transformers import AutoTokenizer

        super().__init__(start)
        self.tokenizer = AutoTokenizer.from_pretrained(start.folder, use_fast=False, local_files_only=True)
        mark = image = DEFAULT_IMAGE_TOKEN
        if start.settings.get("im_start_end"):
            image = DEFAULT_IM_START_TOKEN + mark + DEFAULT_IM_END_TOKEN
        conversation = conv_templates[start.settings.get("conversation", "vicuna_v1")]
        self.speak(conversation, tokenizer_image_token, mark, f"{image}\n")

    def load(self) -> None:
        """See Model.load."""
        from llava.model.language_model.llava_llama import LlavaConfig, LlavaLlamaForCausalLM

        self.device, dtype = self.choose_device()
        config = LlavaConfig.from_pretrained(self.start.folder, local_files_only=True)
        config.mm_vision_tower = self.start.parts["vision_tower"]
        options = {"torch_dtype": dtype, "use_safetensors": True, "local_files_only": True}
        model = LlavaLlamaForCausalLM.from_pretrained(self.start.folder, config=config, **options)
        tower = model.get_vision_tower()
        tower.load_model()
        tower.to(dtype=dtype)
        self.model, self.images = model.to(self.device).eval(), tower.image_processor

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs."""
        from llava.mm_utils import process_images
        from PIL import Image

        given = super().inputs(question, prompt)
        if question.images:
            shown = [Image.open(path).convert("RGB") for path in question.images]
            made = process_images(shown, self.images, self.model.config)
            given["images"] = [one.to(self.device, self.model.dtype) for one in made]
            given["image_sizes"] = [one.size for one in shown]
        return given

    def generate(self, inputs: dict[str, Any], **options: Any) -> Any:
        """See TorchModel.generate."""
        return self.model.generate(
            inputs["input_ids"], inputs.get("images"), inputs.get("image_sizes"), **options
        )
