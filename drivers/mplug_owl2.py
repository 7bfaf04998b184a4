"""mPLUG-Owl2 by its authors' code."""

from __future__ import annotations

from typing import Any

from llava_family import LlavaFamily
from vouch_driver import Question

ABOUT = {
    "repository": "X-PLUG/mPLUG-Owl",
    "commit": "0f3068fdb47b77aedc71fc39f5735cd7aa35e8f9",
    "licence": "MIT",
    "folder": "mPLUG-Owl2",
    "environment": "mplug_owl2",
    "models": {"kostumov": ["mplug-owl2-llama2-7b"]},
}


class Model(LlavaFamily):
    """See LlavaFamily."""

    def __init__(self, start: Any) -> None:
        from mplug_owl2.constants import DEFAULT_IMAGE_TOKEN
        from mplug_owl2.conversation import conv_templates
        from mplug_owl2.mm_utils import tokenizer_image_token
        from transformers.models.clip.image_processing_clip import CLIPImageProcessor

        super().__init__(start)
        self.images = CLIPImageProcessor.from_pretrained(start.folder, local_files_only=True)
        mark = DEFAULT_IMAGE_TOKEN
        self.speak(conv_templates["mplug_owl2"], tokenizer_image_token, mark, image=mark)

    def load(self) -> None:
        """See Model.load."""
        from mplug_owl2.model import MPLUGOwl2LlamaForCausalLM

        self.device, dtype = self.choose_device()
        options = {"torch_dtype": dtype, "use_safetensors": True, "local_files_only": True}
        model = MPLUGOwl2LlamaForCausalLM.from_pretrained(self.start.folder, **options)
        self.model = model.to(self.device).eval()

    def prompt(self, question: Question) -> str:
        """See TorchModel.prompt. The authors' conversation leaves out a system prompt."""
        system = f"{question.system} " if question.system else ""
        return system + super().prompt(question)

    def pixels(self, shown: list[Any]) -> dict[str, Any]:
        """See LlavaFamily.pixels; process_images stretches an image to a square."""
        from mplug_owl2.mm_utils import process_images

        return {"images": process_images(shown, self.images).to(self.device, self.model.dtype)}
