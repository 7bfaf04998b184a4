"""Multimodal-GPT by its authors' code.

The model's folder is LLaMA-7B. program.parts names two more:

    clip     the folder of a CLIP with open_clip_model.safetensors (timm/vit_large_patch14_clip_224.openai)
    weights  what `vouch convert` makes of a folder with checkpoint.pt of OpenFlamingo-9B and
             mmgpt-lora-v0-release.pt

Prompt, image and the place of the letter are those of models/interfaces/mmgpt_interface.py of ReForm-Eval,
where the letter follows a space.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from vouch_driver import Question, Refused, TorchModel, without_places

ABOUT = {
    "repository": "open-mmlab/Multimodal-GPT",
    "commit": "9c73e47ad6c339e828a44f164d1a2c5bff904747",
    "licence": "Apache-2.0",
    "environment": "adapters",
    "models": {"reform": ["Multimodal-GPT"]},
}
MARK = "<image>"
CLIP = "open_clip_model.safetensors"
FLAMINGO = "checkpoint.safetensors"
LORA = "mmgpt-lora-v0-release.safetensors"
TUNED = "model_state_dict.module."  # before the name of a tensor there
SYSTEM = (
    "Below is an instruction that describes a task. "
    "Write a response that appropriately completes the request."
)
# configs/lora_config.py, without a drawing of the model
TUNING = {
    "lora": True,
    "lora_target_modules": [*(f"{one}_proj" for one in "qkvo"), "to_q", "to_kv", "to_out", "ff.1", "ff.3"],
    "lora_r": 16,
    "lora_alpha": 16,
    "lora_dropout": 0.0,
    "vis": False,
    "unfrozen": [],
}


class Model(TorchModel):
    """See TorchModel."""

    spelling = " "

    def __init__(self, start: Any) -> None:
        from transformers import LlamaTokenizer

        super().__init__(start)
        self.tokenizer = LlamaTokenizer.from_pretrained(start.folder, local_files_only=True)
        self.tokenizer.add_special_tokens({"additional_special_tokens": ["<|endofchunk|>", MARK]})
        if self.tokenizer.pad_token is None:
            self.tokenizer.add_special_tokens({"pad_token": "<PAD>"})
        self.tokenizer.bos_token_id, self.tokenizer.eos_token_id = 1, 2

    def load(self) -> None:
        """See Model.load. The authors fetch the tower and open pickles; here they get the parts."""
        import open_clip.openai
        import torch
        from mmgpt.models.open_flamingo import builder
        from safetensors.torch import load_file

        self.device, self.dtype = self.choose_device()
        weights, tower = Path(self.start.parts["weights"]), Path(self.start.parts["clip"], CLIP)
        width = len(load_file(str(tower))["visual.class_embedding"])
        llama, own = builder.LlamaForCausalLM, builder.LlamaForCausalLM.from_pretrained
        options = {"torch_dtype": self.dtype, "local_files_only": True, "use_safetensors": True}
        flamingo = load_file(str(weights / FLAMINGO))
        if not any(name.startswith("perceiver.") for name in flamingo):
            raise ValueError(f"{FLAMINGO}: holds no perceiver; convert checkpoint.pt of OpenFlamingo-9B")
        with ExitStack() as patches:

            def put(what: Any, name: str, value: Any) -> None:
                patches.enter_context(patch.object(what, name, value))

            put(open_clip.openai, "download_pretrained_from_url", lambda *_, **__: str(tower))
            put(open_clip, "get_model_config", lambda name: {"vision_cfg": {"width": width}})
            put(llama, "from_pretrained", lambda name: own(name, **options))
            put(torch, "load", lambda path, **_: flamingo if path == FLAMINGO else load_file(path))
            torch.manual_seed(0)  # the authors leave the output layer of their own tokens at random
            self.model, self.processor, _ = builder.create_model_and_transforms(
                clip_vision_encoder_path="ViT-L-14",
                clip_vision_encoder_pretrained="openai",
                lang_encoder_path=self.start.folder,
                tokenizer_path=self.start.folder,
                pretrained_model_path=FLAMINGO,
                tuning_config=SimpleNamespace(**TUNING),
            )
        tuned = {name.rpartition(TUNED)[2]: one for name, one in load_file(str(weights / LORA)).items()}
        unknown = self.model.load_state_dict(tuned, strict=False).unexpected_keys
        if unknown:
            raise ValueError(f"{LORA}: the model has no {unknown[0]}")
        self.model = self.model.to(self.device, self.dtype).eval()

    def prompt(self, question: Question) -> str:
        """See TorchModel.prompt."""
        texts = [SYSTEM if question.system is None else question.system]
        texts += [f"Image:\n{MARK}"] * len(question.images)
        for asked, answer in [*question.turns, (question.text, question.response or "")]:
            texts += [f"Instruction:\n{without_places(asked, MARK)}", f"Response:\n{answer}"]
        return "\n\n### ".join(texts)

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs."""
        import torch
        from PIL import Image

        if len(question.images) > 1:
            raise Refused("Multimodal-GPT reads one image")
        given = super().inputs(question, prompt)
        shown = [self.processor(Image.open(path).convert("RGB")) for path in question.images]
        pixels = torch.stack(shown)[None, :, None].to(self.device, self.dtype) if shown else None
        return {**given, "attention_mask": torch.ones_like(given["input_ids"]), "vision_x": pixels}

    def logits(self, inputs: dict[str, Any]) -> Any:
        """See TorchModel.logits."""
        mask = inputs["attention_mask"]
        return self.model(inputs["vision_x"], inputs["input_ids"], attention_mask=mask).logits[0]

    def generate(self, inputs: dict[str, Any], **options: Any) -> Any:
        """See TorchModel.generate. The steps of Flamingo.generate, which takes fewer options."""
        llama, pixels = self.model.lang_encoder, inputs["vision_x"]
        if pixels is not None:
            self.model._encode_vision_x(vision_x=pixels)
        for layer in llama._get_decoder_layers():
            layer.condition_only_lang_x(pixels is None)
        try:
            asked = {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"]}
            return llama.generate(**asked, **options)
        finally:
            llama.clear_conditioned_layers()
            for layer in llama._get_decoder_layers():
                layer.condition_only_lang_x(False)
