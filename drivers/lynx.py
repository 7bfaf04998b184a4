"""Lynx by its authors' code, whose configs/LYNX.yaml is read.

source is the converted finetune_lynx.pt. program.parts are `llm`, the folder of Vicuna-7B v1.1, and `vision`,
the converted eva_vit_g.pth. Prompts and images are prepared as ReForm-Eval's lynx_interface.py does it: in
lower case, option letters included. Setting:

    vit  sizes of a smaller vision transformer: {embed_dim: ..., depth: ..., num_heads: ...}
"""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from vouch_driver import Question, Refused, TorchModel, without_places

ABOUT = {
    "repository": "bytedance/lynx-llm",
    "commit": "24680d1107d6c6f4e4b8b89499bef825d527a742",
    "licence": "Apache-2.0",
    "environment": "lynx",
    "models": {"reform": ["Lynx"]},
}
DATA = "data/"  # where the authors' code looks for its files


class Model(TorchModel):
    """See TorchModel."""

    def __init__(self, start: Any) -> None:
        import yaml
        from dataset import get_image_transform, tokenizers

        super().__init__(start)
        self.config = yaml.safe_load((Path(start.code) / "configs/LYNX.yaml").read_text("utf-8"))
        self._files = SimpleNamespace(path=SimpleNamespace(exists=lambda path: True, join=self._join))
        tokenizers.os = self._files
        self.tokenizer, _ = tokenizers.build_tokenizer(self.config["LLM"], self.config["use_left_pad"])
        self.pixels = get_image_transform(self.config)[1]

    def _join(self, folder: str, name: str) -> str:
        """Vicuna's folder where the authors' code has data/vicuna-7b."""
        return self.start.parts["llm"] if folder == DATA else os.path.join(folder, name)

    def load(self) -> None:
        """See Model.load; the two checkpoints are read from safetensors."""
        import torch
        from models import lynx
        from models.vits import eva_vit

        self.device, dtype = self.choose_device()
        whole, sizes, opened = eva_vit.VisionTransformer, self.start.settings.get("vit") or {}, torch.load
        eva_vit.VisionTransformer = lambda **given: whole(**{**given, **sizes})
        lynx.os = eva_vit.os = self._files
        folders = {
            f"{DATA}eva_vit_g.pth": self.start.parts["vision"],
            self.config["checkpoint"]: self.start.folder,
        }
        torch.load = lambda path, **_: _tensors(folders[path])
        frozen = {name: self.config[name] for name in ("freeze_vit", "freeze_llm")}
        model = lynx.LynxBase(config=self.config, load_bridge=False, **frozen)
        torch.load = opened
        self.model = model.to(self.device, dtype).eval()

    def prompt(self, question: Question) -> str:
        """As ReForm-Eval writes it; the image comes before the text."""
        lines = [] if question.system is None else [question.system]
        for asked, answer in [*question.turns, (question.text, question.response)]:
            lines += [f"User: {without_places(asked, '')}", f"Bot: {answer or ''}".rstrip()]
        text = "\n".join(lines)
        return text.lower() if self.config["lower_text"] else text

    def encode(self, text: str) -> list[int]:
        """See TorchModel.encode."""
        text = text.strip().lower() if self.config["lower_text"] else text.strip()
        words = [self.tokenizer.bos_token, *self.tokenizer.tokenize(text)]
        return list(self.tokenizer.convert_tokens_to_ids(words))

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs."""
        from PIL import Image

        given = super().inputs(question, prompt)
        if len(question.images) > 1:
            raise Refused("Lynx takes one image")
        if question.images:
            shown = self.pixels(Image.open(question.images[0]).convert("RGB"))[None]
            given["image"] = shown.to(self.device, next(self.model.bridge.parameters()).dtype)
        return given

    def _embeds(self, inputs: dict[str, Any]) -> Any:
        """The image's tokens, then the text's, as LynxBase.generate joins them."""
        import torch

        words = self.model.embed_tokens(inputs["input_ids"])
        if "image" not in inputs:
            return words
        seen, mask = self.model.get_vision_embeds(inputs["image"])
        return torch.cat([self.model.bridge(vision_embeds=seen, vision_atts=mask)[0], words], dim=1)

    def logits(self, inputs: dict[str, Any]) -> Any:
        """See TorchModel.logits."""
        return self.model.LLM(inputs_embeds=self._embeds(inputs)).logits[0]

    def generate(self, inputs: dict[str, Any], **options: Any) -> Any:
        """See TorchModel.generate."""
        embeds = self._embeds(inputs)
        ends = {name: getattr(self.tokenizer, name) for name in ("pad_token_id", "eos_token_id")}
        mask = embeds.new_ones(embeds.shape[:2]).long()
        return self.model.LLM.generate(inputs_embeds=embeds, attention_mask=mask, **ends, **options)


def _tensors(folder: str) -> dict[str, Any]:
    """All tensors of a folder."""
    from safetensors.torch import load_file

    return {
        name: value for path in Path(folder).glob("*.safetensors") for name, value in load_file(path).items()
    }
