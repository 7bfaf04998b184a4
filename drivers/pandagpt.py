"""PandaGPT by its authors' code.

The model's folder is its Vicuna. program.parts names one more:

    weights  what `vouch convert` makes of a folder with imagebind_huge.pth and PandaGPT's pytorch_model.pt

Settings:

    lora_r  rank of its LoRA; 32
    vision  sizes of an ImageBind that is not imagebind_huge, by its authors' names

Prompt, image and the place of the letter are those of models/interfaces/pandagpt_interface.py of ReForm-Eval.
That file never loads pytorch_model.pt, which leaves layers at random. This driver loads it, as web_demo.py
does.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from vouch_driver import Question, Refused, TorchModel, without_places

ABOUT = {
    "repository": "yxuansu/PandaGPT",
    "commit": "9b77e0412d42a468362b67d1892ff0f4f659a4f5",
    "licence": "Apache-2.0",
    "folder": "code",
    "environment": "adapters",
    "models": {"reform": ["PandaGPT"]},
}
MARK = "<Img></Img>"
IMAGE = -1  # among the tokens of a prompt
UNUSED = ("data", "deepspeed", "ipdb")  # imported by the authors' header.py, for training


class Model(TorchModel):
    """See TorchModel."""

    end = "###"

    def __init__(self, start: Any) -> None:
        from transformers import LlamaTokenizer

        super().__init__(start)
        self.tokenizer = LlamaTokenizer.from_pretrained(start.folder, use_fast=False, local_files_only=True)

    def load(self) -> None:
        """See Model.load. The authors want a GPU and open pickles; here they get the parts."""
        import torch
        from safetensors.torch import load_file

        for name in ("peft", "transformers.deepspeed", "transformers.models.llama.modeling_llama"):
            import_module(name)  # while deepspeed is still known to be missing
        sys.modules.update({name: ModuleType(name) for name in UNUSED})
        openllama = import_module("model.openllama")
        for name in UNUSED:
            del sys.modules[name]
        self.device, dtype = self.choose_device()
        folder, vision = Path(self.start.parts["weights"]), self.start.settings.get("vision", {})
        tower, llama = openllama.imagebind_model, openllama.LlamaForCausalLM
        sized, huge, own = tower.ImageBindModel, tower.imagebind_huge, llama.from_pretrained

        def imagebind(**_: Any) -> tuple[Any, int]:
            model, width = huge(pretrained=False)
            model.load_state_dict(load_file(str(folder / "imagebind_huge.safetensors")))
            return model, width

        options = {"torch_dtype": dtype, "local_files_only": True, "use_safetensors": True}
        with ExitStack() as patches:
            for owner, name, value in (
                (tower, "imagebind_huge", imagebind),
                (tower, "ImageBindModel", lambda **given: sized(**{**given, **vision})),
                (llama, "from_pretrained", lambda name: own(name, **options)),
                (torch.cuda, "current_device", lambda: self.device),
            ):
                patches.enter_context(patch.object(owner, name, value))
            model = openllama.OpenLLAMAPEFTModel(
                imagebind_ckpt_path="",
                vicuna_ckpt_path=self.start.folder,
                max_tgt_len=0,
                stage=2,
                lora_r=self.start.settings.get("lora_r", 32),
                lora_alpha=32,
                lora_dropout=0.1,
            )
        tuned = load_file(str(folder / "model.safetensors"))  # pytorch_model.pt, as `vouch convert` calls it
        unknown = model.load_state_dict(tuned, strict=False).unexpected_keys
        if unknown or "llama_proj.weight" not in tuned:
            problem = f"the model has no {unknown[0]}" if unknown else "there is no llama_proj"
            raise ValueError(f"{folder}/model.safetensors: {problem}; convert PandaGPT's pytorch_model.pt")
        self.model = model.to(self.device, dtype).eval()

    def prompt(self, question: Question) -> str:
        """See TorchModel.prompt; the image comes first."""
        text = "" if question.system is None else f"{question.system}\n"
        image = f"{MARK} " * len(question.images)
        for asked, answer in question.turns:
            text += f"### Human: {image}{without_places(asked, '<Img>')}\n### Assistant: {answer}\n"
            image = ""
        response = f" {question.response}" if question.response else ""
        return f"{text}### Human: {image}{without_places(question.text, '<Img>')}\n### Assistant:{response}"

    def encode(self, text: str) -> list[int]:
        """See TorchModel.encode; the texts around the image are tokenised one by one."""
        before, image, after = text.partition(MARK)
        if not image:
            return list(self.tokenizer(text)["input_ids"])
        rest = self.tokenizer(f"</Img>{after}", add_special_tokens=False)["input_ids"]
        return [*self.tokenizer(f"{before}<Img>")["input_ids"], IMAGE, *rest]

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs."""
        if len(question.images) > 1:
            raise Refused("PandaGPT reads one image")
        seen = self.model.encode_image(list(question.images))[0] if question.images else None
        return {**super().inputs(question, prompt), "seen": seen}

    def embedded(self, inputs: dict[str, Any]) -> Any:
        """Embeddings of the text, (1, tokens, width), with those of the image in its place."""
        tokens, seen = inputs["input_ids"], inputs["seen"]
        embeds = self.model.llama_model.get_input_embeddings()(tokens.clamp(min=0))
        if seen is not None:
            embeds[tokens == IMAGE] = seen[0]
        return embeds

    def logits(self, inputs: dict[str, Any]) -> Any:
        """See TorchModel.logits."""
        return self.model.llama_model(inputs_embeds=self.embedded(inputs)).logits[0]

    def generate(self, inputs: dict[str, Any], **options: Any) -> Any:
        """See TorchModel.generate."""
        return self.model.llama_model.generate(inputs_embeds=self.embedded(inputs), **options)
