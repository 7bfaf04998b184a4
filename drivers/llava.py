"""Models of LLaVA's own repository: the first LLaVA and others of its code that transformers does not load.

program.parts.vision_tower is the folder of its CLIP tower. Settings:

    conversation  name of LLaVA's conv_templates; vicuna_v1
    im_start_end  true for checkpoints that mark the beginning and the end of an image
"""

from __future__ import annotations

from typing import Any

from llava_family import LlavaFamily

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

        super().__init__(start)
        mark = image = DEFAULT_IMAGE_TOKEN
        if start.settings.get("im_start_end"):
            image = DEFAULT_IM_START_TOKEN + mark + DEFAULT_IM_END_TOKEN
        conversation = conv_templates[start.settings.get("conversation", "vicuna_v1")]
        self.speak(conversation, tokenizer_image_token, mark, f"{image}\n")

    def load(self) -> None:
        """See Model.load."""
        from llava.model.language_model.llava_llama import LlavaConfig, LlavaLlamaForCausalLM

        config = LlavaConfig.from_pretrained(self.start.folder, local_files_only=True)
        self.build(LlavaLlamaForCausalLM, config)

    def pixels(self, shown: list[Any]) -> dict[str, Any]:
        """See LlavaFamily.pixels."""
        from llava.mm_utils import process_images

        made = process_images(shown, self.images, self.model.config)
        images = [one.to(self.device, self.model.dtype) for one in made]
        return {"images": images, "image_sizes": [one.size for one in shown]}

    def generate(self, inputs: dict[str, Any], **options: Any) -> Any:
        """See TorchModel.generate."""
        return self.model.generate(
            inputs["input_ids"], inputs.get("images"), inputs.get("image_sizes"), **options
        )
