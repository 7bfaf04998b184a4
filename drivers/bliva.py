"""BLIVA (Vicuna 7B) by its authors' code.

See lavis_base for parts and settings. Image and the place of the letter are those of `predict_class` in
bliva/models/bliva_vicuna7b.py, and the prompt that of models/interfaces/bliva_interface.py of ReForm-Eval.
"""

from __future__ import annotations

from typing import Any

from lavis_base import LavisModel
from vouch_driver import Question, Refused, without_places

ABOUT = {
    "repository": "mlpc-ucsd/BLIVA",
    "commit": "d99de3a48cd76ee393bf89c8ea167c1a2efd0a0a",
    "licence": "BSD-3-Clause",
    "environment": "lavis",
    "models": {"reform": ["BLIVA"]},
}


class Model(LavisModel):
    """See LavisModel."""

    checkpoint = "bliva_vicuna7b"

    def __init__(self, start: Any) -> None:
        super().__init__(start)
        self.tokenizer.add_special_tokens({"pad_token": "[PAD]"})
        self.tokenizer.add_special_tokens(dict.fromkeys(("bos_token", "eos_token", "unk_token"), "</s>"))

    def load(self) -> None:
        """See Model.load."""
        from bliva.models.bliva_vicuna7b import BLIVAVicuna
        from bliva.models.modeling_llama import LlamaForCausalLM
        from bliva.processors.blip_processors import BlipImageEvalProcessor

        names = {"llm_model": self.start.folder, "finetuned": self.weights()}
        self.build(BLIVAVicuna, LlamaForCausalLM, BlipImageEvalProcessor, **names)
        self.llama = self.model.llm_model

    def prompt(self, question: Question) -> str:
        """See TorchModel.prompt."""
        text = "" if question.system is None else f"{question.system}\n"
        for asked, answer in question.turns:
            text += f"Question: {without_places(asked, '')} Answer: {answer}\n"
        response = f" {question.response}" if question.response else ""
        return f"{text}Question: {without_places(question.text, '')} Answer:{response}"

    def encode(self, text: str) -> list[int]:
        """See TorchModel.encode; the image stands before all tokens."""
        return list(self.tokenizer(text)["input_ids"])

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs. seen: embeddings of the image, which the Q-Former reads with the prompt."""
        import torch

        if len(question.images) != 1:
            raise Refused("BLIVA reads one image")
        model, pixels = self.model, self.pixels(question.images[0])
        limits = {"truncation": True, "max_length": model.max_txt_len}
        words = model.tokenizer(prompt, return_tensors="pt", **limits).input_ids.to(self.device)
        count = model.query_tokens.shape[1]
        read = model.Qformer.bert(
            words,
            attention_mask=torch.ones_like(words[:, :1]).expand(1, count + words.shape[1]),
            query_embeds=model.query_tokens,
            encoder_hidden_states=model.ln_vision(model.visual_encoder(pixels)),
            return_dict=True,
        )
        patches = model.visual_encoder.get_intermediate_layers(pixels)[-2][:, 1:]
        seen = [model.llm_proj(read.last_hidden_state[:, :count]), model.vision_project(patches)]
        return {"input_ids": self.tensor([self.encode(prompt)]), "seen": torch.cat(seen, dim=1)}

    def arguments(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """See LavisModel.arguments."""
        import torch

        texts = self.llama.get_input_embeddings()(inputs["input_ids"])
        return {"inputs_embeds": torch.cat([inputs["seen"], texts], dim=1)}
