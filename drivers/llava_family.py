"""What the drivers of LLaVA's code, and of code that grew from it, have in common."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Callable

from vouch_driver import Question, TorchModel, without_places


class LlavaFamily(TorchModel):
    """A conversation in which a mark stands for an image. All images come first. See TorchModel.

    A driver calls `speak` in `__init__` and `build` in `load`, and defines `pixels`.
    """

    images: Any  # the image processor

    @cached_property
    def tokenizer(self) -> Any:
        """That of the model's folder."""
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(self.start.folder, use_fast=False, local_files_only=True)

    def speak(
        self, conversation: Any, tokenize: Callable[..., Any], mark: str, image: str | None = None
    ) -> None:
        """Sets how prompts are written.

        conversation: one of the authors' `conv_templates`. tokenize: their function that tokenises a text
        and puts a negative number in the place of each mark. image: a mark with what is around it.
        """
        self.conversation, self.tokenize, self.mark = conversation, tokenize, mark
        self.image = f"{mark}\n" if image is None else image
        if conversation.sep_style.name == "SINGLE":
            self.end = conversation.sep

    def build(self, owner: Any, config: Any, prepare: str = "load_model") -> None:
        """Sets `model` and `images`, by the authors' class and their configuration of the folder.

        The tower is program.parts.vision_tower, or the one that the configuration names. prepare: the
        tower's method that loads what the model's checkpoint does not hold.
        """
        self.device, dtype = self.choose_device()
        config.mm_vision_tower = self.start.parts.get("vision_tower", config.mm_vision_tower)
        options = {"torch_dtype": dtype, "use_safetensors": True, "local_files_only": True}
        model = owner.from_pretrained(self.start.folder, config=config, **options)
        tower = model.get_vision_tower()
        getattr(tower, prepare)()
        tower.to(dtype=dtype)
        self.model, self.images = model.to(self.device).eval(), tower.image_processor

    def pixels(self, shown: list[Any]) -> dict[str, Any]:
        """Arguments of the forward pass for images, which are given in RGB as PIL has them."""
        raise NotImplementedError

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs."""
        from PIL import Image

        given = super().inputs(question, prompt)
        if question.images:
            given.update(self.pixels([Image.open(path).convert("RGB") for path in question.images]))
        return given

    def prompt(self, question: Question) -> str:
        """See TorchModel.prompt."""
        talk = self.conversation.copy()
        if question.system is not None:
            talk.system = question.system
        shown = self.image * len(question.images)
        for index, (asked, answer) in enumerate([*question.turns, (question.text, None)]):
            asked = without_places(asked, self.mark)
            talk.append_message(talk.roles[0], shown + asked if index == 0 else asked)
            talk.append_message(talk.roles[1], answer)
        return str(talk.get_prompt()) + (f" {question.response}" if question.response else "")

    def encode(self, text: str) -> list[int]:
        """See TorchModel.encode."""
        return list(self.tokenize(text, self.tokenizer))
