"""mPLUG-Owl2 by its authors' code: program.code is the folder mPLUG-Owl2 of a clone of X-PLUG/mPLUG-Owl."""

from __future__ import annotations

from typing import Any

from vouch_driver import Question, TorchModel, without_places


class Model(TorchModel):
    """See TorchModel."""

    def __init__(self, start: Any) -> None:
        from transformers import AutoTokenizer
        from transformers.models.clip.image_processing_clip import CLIPImageProcessor

        super().__init__(start)
        self.tokenizer = AutoTokenizer.from_pretrained(start.folder, use_fast=False, local_files_only=True)
        self.images = CLIPImageProcessor.from_pretrained(start.folder, local_files_only=True)

    def load(self) -> None:
        """See Model.load."""
        from mplug_owl2.model import MPLUGOwl2LlamaForCausalLM

        self.device, dtype = self.choose_device()
        options = {"torch_dtype": dtype, "use_safetensors": True, "local_files_only": True}
        model = MPLUGOwl2LlamaForCausalLM.from_pretrained(self.start.folder, **options)
        self.model = model.to(self.device).eval()

    def prompt(self, question: Question) -> str:
        """The conversation mplug_owl2; all images come first. It has no system prompt of its own."""
        from mplug_owl2.constants import DEFAULT_IMAGE_TOKEN
        from mplug_owl2.conversation import conv_templates

        talk = conv_templates["mplug_owl2"].copy()
        shown = DEFAULT_IMAGE_TOKEN * len(question.images)
        for index, (asked, answer) in enumerate([*question.turns, (question.text, None)]):
            asked = without_places(asked, DEFAULT_IMAGE_TOKEN)
            talk.append_message(talk.roles[0], shown + asked if index == 0 else asked)
            talk.append_message(talk.roles[1], answer)
        system = f"{question.system} " if question.system else ""
        return system + str(talk.get_prompt()) + (f" {question.response}" if question.response else "")

    def encode(self, text: str) -> list[int]:
        """See TorchModel.encode; an image is one token here."""
        from mplug_owl2.mm_utils import tokenizer_image_token

        return list(tokenizer_image_token(text, self.tokenizer))

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs; process_images stretches an image to a square."""
        from mplug_owl2.mm_utils import process_images
        from PIL import Image

        given = super().inputs(question, prompt)
        if question.images:
            shown = [Image.open(path).convert("RGB") for path in question.images]
            given["images"] = process_images(shown, self.images).to(self.device, self.model.dtype)
        return given
