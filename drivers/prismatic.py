"""Prismatic VLMs by their authors' code.

source is the folder of one model, its checkpoints/latest-checkpoint.pt converted. program.parts are `llm`, a
folder with the configuration and the tokenizer of its language model (no weights); `vision`, the folder of
its vision transformer in timm; and `dino`, that of DINOv2, if it has two. Setting:

    vit  sizes of smaller vision transformers: {embed_dim: ..., depth: ..., num_heads: ...}
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from vouch_driver import Question, Refused, TorchModel, without_places

ABOUT = {
    "repository": "TRI-ML/prismatic-vlms",
    "commit": "874c5bbff52b248294a3ab97006491a7faa698e6",
    "licence": "MIT",
    "environment": "prismatic",
    "models": {"tu": ["LLaVA-prismatic"]},
}


class Model(TorchModel):
    """See TorchModel."""

    def __init__(self, start: Any) -> None:
        from prismatic.models.backbones.llm import llama2, mistral, phi
        from prismatic.models.materialize import LLM_BACKBONES
        from transformers import AutoTokenizer

        super().__init__(start)
        self.config = json.loads((Path(start.folder) / "config.json").read_text("utf-8"))["model"]
        for known in (llama2.LLAMA2_MODELS, mistral.MISTRAL_MODELS, phi.PHI_MODELS):
            for one in known.values():
                one["hf_hub_path"] = start.parts["llm"]
        name = self.config["llm_backbone_id"]
        self.builder = LLM_BACKBONES[name]["cls"].prompt_builder_fn.fget(SimpleNamespace(identifier=name))
        self.tokenizer = AutoTokenizer.from_pretrained(start.parts["llm"], local_files_only=True)

    def load(self) -> None:
        """See Model.load; as prismatic.load does, from safetensors and the parts' folders."""
        import timm
        import torch
        from prismatic.models import get_llm_backbone_and_tokenizer, get_vision_backbone_and_transform
        from prismatic.models.vlms import PrismaticVLM

        self.device, dtype = self.choose_device()
        config, created, opened = self.config, timm.create_model, torch.load
        timm.create_model = lambda name, **given: created(name, **given, **self._tower(name))
        vision, self.pixels = get_vision_backbone_and_transform(
            config["vision_backbone_id"], config["image_resize_strategy"]
        )
        length = config.get("llm_max_length", 2048)
        language, self.tokenizer = get_llm_backbone_and_tokenizer(
            config["llm_backbone_id"], llm_max_length=length, inference_mode=True
        )
        torch.load = lambda path, **_: {"model": _nested(path)}
        vlm = PrismaticVLM.from_pretrained(
            Path(self.start.folder) / "checkpoints/latest-checkpoint.safetensors",
            config["model_id"],
            vision,
            language,
            arch_specifier=config["arch_specifier"],
        )
        timm.create_model, torch.load = created, opened
        self.model, self.dtype = vlm.to(self.device, dtype=dtype), dtype

    def _tower(self, name: str) -> dict[str, Any]:
        """Arguments of timm.create_model, by which weights come from a part."""
        folder = Path(self.start.parts["dino" if "dino" in name and "dino" in self.start.parts else "vision"])
        files = sorted(folder.glob("*.safetensors"), key=lambda path: path.name != "model.safetensors")
        if not files:
            raise FileNotFoundError(f"{folder}: no .safetensors")
        overlay = {"file": str(files[0]), "custom_load": False}
        return {"pretrained_cfg_overlay": overlay, **(self.start.settings.get("vit") or {})}

    def prompt(self, question: Question) -> str:
        """By the model's own prompt builder. Raises Refused for a system message that it leaves out."""
        builder = self.builder("prismatic", system_prompt=question.system)
        for asked, answer in [*question.turns, (question.text, None)]:
            builder.add_turn("human", without_places(asked, ""))
            if answer is not None:
                builder.add_turn("gpt", answer)
        text = str(builder.get_prompt())
        if question.system and question.system.strip() not in text:
            raise Refused("this model's prompt has no place for a system message")
        return text + (f" {question.response}" if question.response else "")

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs."""
        from PIL import Image

        given = super().inputs(question, prompt)
        if len(question.images) > 1:
            raise Refused("a Prismatic VLM takes one image")
        for path in question.images:
            made = self.pixels(Image.open(path).convert("RGB"))
            several = made if isinstance(made, dict) else {"": made}
            moved = {name: one[None].to(self.device, self.dtype) for name, one in several.items()}
            given["pixel_values"] = moved if isinstance(made, dict) else moved[""]
        return given

    def logits(self, inputs: dict[str, Any]) -> Any:
        """See TorchModel.logits; without the authors' autocast, as all weights have one type."""
        return self._reader(inputs)(**inputs).logits[0]

    def generate(self, inputs: dict[str, Any], **options: Any) -> Any:
        """See TorchModel.generate; PrismaticVLM's own takes an image and a text."""
        from transformers import GenerationMixin

        return GenerationMixin.generate(self._reader(inputs), **inputs, **options)

    def _reader(self, inputs: dict[str, Any]) -> Any:
        """The model; without an image, its language model."""
        return self.model if "pixel_values" in inputs else self.model.llm_backbone.llm


def _nested(path: Path) -> dict[str, dict[str, Any]]:
    """A converted checkpoint as it was: module -> name -> tensor."""
    from safetensors.torch import load_file

    modules: dict[str, dict[str, Any]] = {}
    for name, value in load_file(path).items():
        _, module, rest = name.split(".", 2)
        modules.setdefault(module, {})[rest] = value
    return modules
