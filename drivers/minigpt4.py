"""MiniGPT-4 by the code that ReForm-Eval measured it with.

See lavis_base for parts and settings. Prompt, image and the place of the letter are those of
models/interfaces/minigpt4_interface.py.
"""

from __future__ import annotations

from lavis_base import LavisModel
from vouch_driver import Question

ABOUT = {
    "repository": "FudanDISC/ReForm-Eval",
    "commit": "df1cfa7bf15f89591fc2c0e0f654c84d2cbf44bb",
    "licence": "Apache-2.0",
    "environment": "lavis",
    "models": {"reform": ["MiniGPT4"]},
}


class Model(LavisModel):
    """See LavisModel."""

    checkpoint = "pretrained_minigpt4_7b"
    mark = "<ImageHere>"
    end = "###"

    def load(self) -> None:
        """See Model.load."""
        from models.interfaces.minigpt4.models.mini_gpt4 import MiniGPT4
        from models.interfaces.minigpt4.models.modeling_llama import LlamaForCausalLM
        from models.interfaces.minigpt4.processors import Blip2ImageEvalProcessor

        names = {"llama_model": self.start.folder, "ckpt": self.weights()}
        self.build(MiniGPT4, LlamaForCausalLM, Blip2ImageEvalProcessor, **names)
        self.llama = self.model.llama_model

    def prompt(self, question: Question) -> str:
        """See TorchModel.prompt."""
        from models.interfaces.minigpt4.conversation.conversation import CONV_VISION

        return self.talk(CONV_VISION, question) + (f" {question.response}" if question.response else "")
