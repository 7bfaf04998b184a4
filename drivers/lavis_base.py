"""What models of LAVIS's form share: an EVA-ViT, a Q-Former and a LLaMA, put together by their authors' code.

The model's folder is that of its LLaMA. program.parts names two more:

    bert     the folder of bert-base-uncased
    weights  what `vouch convert` makes of a folder with the authors' files: eva_vit_g.pth, the model's own
             checkpoint, and for some blip2_pretrained_flant5xxl.pth

Settings:

    checkpoint  name of the checkpoint's file, without its ending
    vision      sizes of a vision tower that is not EVA-ViT-g, by the authors' names

The authors' code fetches most of these by address and opens pickles. While it puts the model together it
gets the parts above, and the dtype of the entry. It then runs without autocast.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from vouch_driver import Question, Refused, TorchModel, without_places

IMAGE = -1  # among the tokens of a prompt
NESTED = "model."  # of a checkpoint's tensors


class LavisModel(TorchModel):
    """See TorchModel. A driver says which class is loaded, and how a prompt is written.

    checkpoint: name of the authors' file. mark: what stands for an image in a prompt. end: text that ends an
    answer, beside the end of the sequence.
    """

    checkpoint: str
    mark: str
    end = ""
    llama: Any

    def __init__(self, start: Any) -> None:
        from transformers import LlamaTokenizer

        super().__init__(start)
        self.tokenizer = LlamaTokenizer.from_pretrained(start.folder, use_fast=False, local_files_only=True)

    def weights(self, address: str = "", **options: Any) -> str:
        """The file of the part `weights` for an address, or the checkpoint."""
        name = Path(address).stem if address else self.start.settings.get("checkpoint", self.checkpoint)
        return str(Path(self.start.parts["weights"]) / f"{name}.safetensors")

    def build(self, owner: Any, llama: Any, processor: Any, **settings: Any) -> None:
        """Sets `model` to one of the authors' class. llama: the class of its LLaMA. settings: of its yaml."""
        import torch
        from transformers import BertConfig, BertTokenizer

        self.device, dtype = self.choose_device()
        package = owner.__module__.rpartition(".")[0]
        tower, qformer = sys.modules[f"{package}.eva_vit"], sys.modules[f"{package}.Qformer"]
        vision = self.start.settings.get("vision", {})
        with ExitStack() as patches:

            def put(what: Any, name: str, value: Any) -> None:
                patches.enter_context(patch.object(what, name, value))

            for name, module in list(sys.modules.items()):
                if name.startswith(package) and hasattr(module, "download_cached_file"):
                    put(module, "download_cached_file", self.weights)
            for known in (BertConfig, BertTokenizer, qformer.BertLMHeadModel):
                put(known, "from_pretrained", _loading(known, self.start.parts["bert"]))
            options = {"torch_dtype": dtype, "use_safetensors": True}
            put(llama, "from_pretrained", _loading(llama, self.start.folder, **options))
            put(torch, "load", _tensors)
            sized = tower.VisionTransformer
            put(tower, "VisionTransformer", lambda **given: sized(**{**given, **vision}))
            fixed = {"image_size": 224, "num_query_token": 32, "vit_precision": "fp32"}
            model = owner.from_config({**fixed, **settings})
        if not _names(self.weights()) & {*model.state_dict()}:
            raise ValueError(f"{self.weights()}: holds nothing of this model; convert its own checkpoint")
        model.maybe_autocast = lambda *_, **__: nullcontext()
        self.model, self.processor = model.to(self.device, dtype).eval(), processor(image_size=224)
        self.model.ln_vision.float()  # it computes in single precision
        self.dtype = dtype

    def encode(self, text: str) -> list[int]:
        """See TorchModel.encode; the texts around an image are tokenised one by one."""
        tokens: list[int] = []
        for index, piece in enumerate(text.split(self.mark)):
            tokens += [IMAGE] * (index > 0)
            tokens += self.tokenizer(piece, add_special_tokens=index == 0)["input_ids"]
        return tokens

    def pixels(self, path: str) -> Any:
        """An image as the authors prepare it, (1, 3, 224, 224)."""
        from PIL import Image

        image = self.processor(Image.open(path).convert("RGB"))
        return image[None].to(self.device, self.dtype)

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs. seen: what `encode_img` makes of each image. asked: tokens of the prompt."""
        given = super().inputs(question, prompt)
        asked = given["input_ids"].shape[1]
        if int((given["input_ids"] == IMAGE).sum()) != len(question.images):
            raise Refused(f"the text holds {self.mark}, which stands for an image")
        seen = [self.model.encode_img(self.pixels(path)) for path in question.images]
        return {**given, "seen": seen, "asked": asked}

    def embedded(self, inputs: dict[str, Any]) -> tuple[Any, list[tuple[int, int]]]:
        """Embeddings (1, positions, width) of texts and images, and where each image begins and ends."""
        import torch

        tokens = inputs["input_ids"][0]
        texts = self.llama.get_input_embeddings()(tokens.clamp(min=0))[None]
        pieces, spans, start, count = [], [], 0, 0
        for at, (image, *_) in zip((tokens == IMAGE).nonzero()[:, 0].tolist(), inputs["seen"]):
            count += at - start
            spans.append((count, count + image.shape[1]))
            pieces += [texts[:, start:at], image]
            start, count = at + 1, count + image.shape[1]
        return torch.cat([*pieces, texts[:, start:]], dim=1), spans

    def arguments(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What the LLaMA is called with."""
        return {"inputs_embeds": self.embedded(inputs)[0]}

    def logits(self, inputs: dict[str, Any]) -> Any:
        """See TorchModel.logits."""
        return self.llama(**self.arguments(inputs)).logits[0]

    def generate(self, inputs: dict[str, Any], **options: Any) -> Any:
        """See TorchModel.generate."""
        return self.llama.generate(**self.arguments(inputs), **options)

    def text(self, question: Question) -> dict[str, Any]:
        """See Model.text."""
        answer = super().text(replace(question, stop=question.stop or self.end))
        return {**answer, "text": answer["text"].split(self.end)[0]} if self.end else answer

    def talk(self, conversation: Any, question: Question) -> str:
        """A prompt by the authors' Conversation; all images come first."""
        talk = conversation.copy()
        if question.system is not None:
            talk.system = question.system
        images = f"<Img>{self.mark}</Img>" * len(question.images) + (" " if question.images else "")
        for index, (asked, answer) in enumerate([*question.turns, (question.text, None)]):
            asked = without_places(asked, self.mark)
            talk.append_message(talk.roles[0], images + asked if index == 0 else asked)
            talk.append_message(talk.roles[1], answer)
        return str(talk.get_prompt())


def _loading(owner: Any, folder: str, **options: Any) -> Any:
    """The `from_pretrained` of a class, for this folder whatever the name."""
    original = owner.from_pretrained

    def load(name: str, **given: Any) -> Any:
        return original(folder, local_files_only=True, **{**given, **options})

    return load


def _tensors(path: Any, **options: Any) -> dict[str, Any]:
    """What torch.load gave before `vouch convert` joined the keys of nested mappings by dots."""
    from safetensors.torch import load_file

    tensors = load_file(str(path))
    model = {name[len(NESTED) :]: one for name, one in tensors.items() if name.startswith(NESTED)}
    return {"model": model} if model else tensors


def _names(path: str) -> set[str]:
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        names = file.keys()
    return {name[len(NESTED) :] if name.startswith(NESTED) else name for name in names}
