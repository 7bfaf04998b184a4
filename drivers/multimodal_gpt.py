"""Multimodal-GPT by its authors' code: program.code is a clone of open-mmlab/Multimodal-GPT.

The model's folder is LLaMA-7B. program.parts names two more:

    clip     the folder of a CLIP with open_clip_model.safetensors (timm/vit_large_patch14_clip_224.openai)
    weights  what `vouch convert` makes of a folder with checkpoint.pt of OpenFlamingo-9B and
             mmgpt-lora-v0-release.pt

Prompt, image and the place of the letter are those of models/interfaces/mmgpt_interface.py of ReForm-Eval,
where the letter follows a space.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from vouch_driver import Question, Refused, TorchModel, without_places

MARK = "<image>"
SYSTEM = (
    "Below is an instruction that describes a task. Write a response that appropriately completes the request."
)
# configs/lora_config.py, without a drawing of the model
TUNING = {
    "lora": True,
    "lora_target_modules": ["q_proj", "k_proj", "v_proj", "o_proj", "to_q", "to_kv", "to_out", "ff.1", "ff.3"],
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
        """See Model.load. The authors fetch the tower by address and open pickles; here all are the parts."""
        import open_clip.openai
        import torch
        from mmgpt.models.open_flamingo import builder
        from safetensors.torch import load_file

        self.device, self.dtype = self.choose_device()
        folder, clip = Path(self.start.parts["weights"]), Path(self.start.parts["clip"])
        tower = str(clip / "open_clip_model.safetensors")
        width = len(load_file(tower)["visual.class_embedding"])
        llama, own = builder.LlamaForCausalLM, builder.LlamaForCausalLM.from_pretrained
        options = {"torch_dtype": self.dtype, "local_files_only": True, "use_safetensors": True}
        torch.manual_seed(0)  # logits of the tokens that the authors add to LLaMA's are random
        with patch.object(open_clip.openai, "download_pretrained_from_url", lambda *_, **__: tower), patch.object(
            open_clip, "get_model_config", lambda name: {"vision_cfg": {"width": width}}
        ), patch.object(llama, "from_pretrained", lambda name: own(name, **options)), patch.object(
            torch, "load", lambda path, **_: load_file(path)
        ):
            self.model, self.processor, _ = builder.create_model_and_transforms(
                clip_vision_encoder_path="ViT-L-14",
                clip_vision_encoder_pretrained="openai",
                lang_encoder_path=self.start.folder,
                tokenizer_path=self.start.folder,
                pretrained_model_path=str(folder / "checkpoint.safetensors"),
                tuning_config=SimpleNamespace(**TUNING),
            )
        tuned = load_file(str(folder / "mmgpt-lora-v0-release.safetensors"))
        tuned = {name.replace("model_state_dict.", "").replace("module.", ""): one for name, one in tuned.items()}
        unknown = [name for name in self.model.load_state_dict(tuned, strict=False).unexpected_keys]
        if unknown:
            raise ValueError(f"mmgpt-lora-v0-release.safetensors: the model has no {unknown[0]}")
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
