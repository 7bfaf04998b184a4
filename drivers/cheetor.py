"""Cheetor by the code that ReForm-Eval measured it with.

See lavis_base for parts and its settings; another one is

    language  vicuna or llama2; vicuna

Prompt, image and the place of the letter are those of models/interfaces/cheetor_interface.py.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lavis_base import LavisModel
from vouch_driver import Question

ABOUT = {
    "repository": "FudanDISC/ReForm-Eval",
    "commit": "df1cfa7bf15f89591fc2c0e0f654c84d2cbf44bb",
    "licence": "Apache-2.0",
    "environment": "lavis",
    "models": {"reform": ["Cheetor (Vicuna)", "Cheetor (LLaMA2)"]},
}
CHEETAH = "models.interfaces.Cheetah.cheetah"
LAYER = 16  # where the LLaMA looks at the images again
# language: the authors' modules of model, LLaMA and conversation
MODULES = {
    "vicuna": ("cheetah_vicuna", "modeling_llama", "conversation"),
    "llama2": ("cheetah_llama2", "modeling_llama2", "conversation_llama2"),
}


class Model(LavisModel):
    """See LavisModel."""

    mark = "<HereForImage>"

    def __init__(self, start: Any) -> None:
        super().__init__(start)
        self.language = start.settings.get("language", "vicuna")
        self.checkpoint = f"cheetah_{self.language}_7b"
        self.end = "###" if self.language == "vicuna" else ""
        self.modules = MODULES[self.language]

    def load(self) -> None:
        """See Model.load."""
        from models.interfaces.Cheetah.cheetah.processors import Blip2ImageEvalProcessor

        module = import_module(f"{CHEETAH}.models.{self.modules[0]}")
        owner = getattr(module, {"vicuna": "Cheetah_Vicuna", "llama2": "Cheetah_Llama2"}[self.language])
        names = {"llama_model": self.start.folder, "ckpt": self.weights()}
        self.build(owner, module.LlamaForCausalLM, Blip2ImageEvalProcessor, **names)
        self.llama = self.model.llama_model

    def prompt(self, question: Question) -> str:
        """See TorchModel.prompt."""
        conversation = import_module(f"{CHEETAH}.conversation.{self.modules[2]}").CONV_VISION
        space = " " if self.language == "vicuna" else ""
        return self.talk(conversation, question) + space * bool(question.response) + (question.response or "")

    def arguments(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """See LavisModel.arguments. At LAYER the images are read anew, by the last token of the prompt."""
        import torch

        embeds, spans = self.embedded(inputs)
        if not spans:
            return {"inputs_embeds": embeds, "update_layer": None}
        beyond = max(0, inputs["input_ids"].shape[1] - inputs["asked"])
        return {
            "inputs_embeds": embeds,
            "update_layer": LAYER,
            "image_position_list": spans,
            "input_part_targets_len": torch.tensor([embeds.shape[1] - beyond - 1]),
            "all_image_embeds": torch.stack([one[2] for one in inputs["seen"]], dim=1),
        }
