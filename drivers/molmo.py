"""Molmo by its authors' code.

source is one of the authors' own checkpoints (config.yaml, model.pt), converted. program.parts.tokenizer is
the folder of the tokenizer that its config.yaml names. Setting:

    style  the authors' name of the kind of question, which some prompts begin with; demo
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from vouch_driver import Question, Refused, TorchModel, without_places

ABOUT = {
    "repository": "allenai/molmo",
    "commit": "793fa387edfd6fd0f5b21eb8e0a7620a1f3799e1",
    "licence": "Apache-2.0",
    "environment": "prismatic",
    "models": {"azad": ["Molmo 7B"]},
}


class Model(TorchModel):
    """See TorchModel."""

    def __init__(self, start: Any) -> None:
        from olmo import tokenizer
        from olmo.config import ModelConfig
        from olmo.data import build_mm_preprocessor
        from transformers import AutoTokenizer

        def local(name: str, token: Any = None, cache_dir: Any = None, **options: Any) -> Any:
            """The tokenizer's folder, whatever name of the hub config.yaml has."""
            return AutoTokenizer.from_pretrained(start.parts["tokenizer"], local_files_only=True, **options)

        super().__init__(start)
        tokenizer.AutoTokenizer = SimpleNamespace(from_pretrained=local)
        file = Path(start.folder) / "config.yaml"
        self.config = ModelConfig.load(file, key="model", validate_paths=False)
        self.config.tokenizer.tokenizer_dir = None
        self.config.init_device = "cpu"
        self.making = build_mm_preprocessor(self.config, for_inference=True, shuffle_messages=False)
        self.tokenizer = self.making.tokenizer.tokenizer

    def load(self) -> None:
        """See Model.load; as Molmo.from_checkpoint does. Half precision is mixed, as in their evaluation."""
        import torch
        from olmo.model import Molmo
        from safetensors.torch import load_file

        self.device, dtype = self.choose_device()
        model = Molmo(self.config)
        state = load_file(Path(self.start.folder) / "model.safetensors")
        model.load_state_dict(model._make_state_dict_compatible(state)[0])
        self.model, self.dtype = model.to(self.device, dtype).eval(), dtype
        mixed = torch.autocast(self.device, dtype, enabled=dtype != torch.float32)
        model.forward = mixed(model.forward)

    def prompt(self, question: Question) -> str:
        """By the authors' DataFormatter; the image comes first. Raises Refused for a system message."""
        import numpy

        if question.system is not None:
            raise Refused("Molmo's prompt has no place for a system message")
        earlier = [text for turn in question.turns for text in turn]
        example = {
            "style": self.start.settings.get("style", "demo"),
            "messages": [without_places(text, "") for text in [*earlier, question.text]],
        }
        messages, _ = self.making.formater._format_example(
            example, example, False, True, numpy.random.RandomState(0)
        )
        ends = [self.tokenizer.eos_token if index % 2 else "" for index in range(len(messages))]
        text = "".join(message + end for message, end in zip(messages, ends))
        return text + (f" {question.response}" if question.response else "")

    def encode(self, text: str) -> list[int]:
        """See TorchModel.encode."""
        return list(self.making.tokenizer.encode(text))

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs; crops and image tokens are made by the authors' MultiModalPreprocessor."""
        from olmo.data.model_preprocessor import load_image

        if len(question.images) > 1:
            raise Refused("Molmo takes one image")
        shown = load_image(question.images[0]) if question.images else None
        made = self.making.mm_preprocessor(shown, [prompt])
        given = {"input_ids": self.tensor(made["input_tokens"][None].astype("int64"))}
        for name in ("images", "image_masks"):
            if name in made:
                given[name] = self.tensor(made[name][None]).to(self.dtype)
        if shown is not None:
            given["image_input_idx"] = self.tensor(made["image_input_idx"][None])
        return given

    def generate(self, inputs: dict[str, Any], **options: Any) -> Any:
        """See TorchModel.generate; the steps of Molmo.generate, whose beam search takes no such options."""
        import torch

        (note,), (ended,) = options["logits_processor"], options["stopping_criteria"]
        tokens, given, past = inputs["input_ids"], inputs, None
        for _ in range(options["max_new_tokens"]):
            out = self.model(**given, past_key_values=past, use_cache=True, last_logits_only=True)
            scores, past = note(tokens, out.logits[:, -1].float()), out.attn_key_values
            chosen = scores.argmax(-1, keepdim=True)
            if options["do_sample"]:
                chosen = torch.multinomial((scores / options["temperature"]).softmax(-1), 1)
            tokens = torch.cat([tokens, chosen], dim=1)
            if int(chosen) == self.tokenizer.eos_token_id or bool(ended(tokens, None).all()):
                break
            given = {"input_ids": chosen, "attention_mask": torch.ones_like(tokens)}
            given["position_ids"] = self.tensor([[tokens.shape[1] - 1]])
        return tokens
