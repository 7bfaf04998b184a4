"""MoE-LLaVA (Phi-2, Qwen, StableLM) by its authors' code.

program.parts.vision_tower is the folder of its CLIP tower. DeepSpeed draws the second expert of each token at
random, also when it answers; the driver draws with the same seed for each question. An answer is computed in
one process, which needs no exchange of tokens between experts. Prompts and images are prepared as by
input_utils/text_utils.py of EnSec-AI/VLM-Uncertainty-Bench, that is, without padding. Setting:

    image_aspect_ratio  pad, as the authors' own evaluation has it
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from llava_family import LlavaFamily

ABOUT = {
    "repository": "PKU-YuanGroup/MoE-LLaVA",
    "commit": "6cb5f66e12d69e57c584a0062f7943d391540676",
    "licence": "Apache-2.0",
    "environment": "moe_llava",
    "models": {
        "kostumov": [
            "MoE-LLaVA-Phi2-2.7B-4e",
            "MoE-LLaVA-Qwen-1.8B-4e",
            "MoE-LLaVA-StableLM-1.6B-4e",
        ]
    },
}
LANGUAGE = "moellava.model.language_model"
SEED = 0
# model_type: module and class of the model; module and class of its tokenizer, or transformers' own
KINDS = {
    "moe_llava_phi": ("llava_phi_moe", "EvalMoELLaVAPhiForCausalLM", None),
    "moe_llava_qwen": (
        "llava_qwen_moe",
        "EvalMoELLaVAQWenForCausalLM",
        ("qwen.tokenization_qwen", "QWenTokenizer"),
    ),
    "moe_llava_stablelm": (
        "llava_stablelm_moe",
        "EvalMoELLaVAStablelmForCausalLM",
        ("stablelm.tokenization_arcade100k", "Arcade100kTokenizer"),
    ),
}


class Model(LlavaFamily):
    """See LlavaFamily."""

    def __init__(self, start: Any) -> None:
        from moellava.constants import DEFAULT_IMAGE_TOKEN
        from moellava.conversation import conv_templates
        from moellava.mm_utils import tokenizer_image_token
        from transformers import AutoTokenizer

        super().__init__(start)
        config = json.loads((Path(start.folder) / "config.json").read_text("utf-8"))
        self.kind = KINDS[config["model_type"]]
        words = self.kind[2]
        owner = getattr(import_module(f"{LANGUAGE}.{words[0]}"), words[1]) if words else AutoTokenizer
        self.tokenizer = owner.from_pretrained(start.folder, use_fast=False, local_files_only=True)
        self.tokenizer.eos_token = "<|endoftext|>"  # Qwen's tokenizer names none
        # conv_templates has the same text for all three
        self.speak(conv_templates["phi"], tokenizer_image_token, DEFAULT_IMAGE_TOKEN)

    def load(self) -> None:
        """See Model.load."""
        from deepspeed.moe import sharded_moe
        from moellava.model import llava_arch
        from moellava.model.multimodal_encoder.clip_encoder import CLIPVisionTower

        self.device, dtype = self.choose_device()
        sharded_moe._AllToAll = SimpleNamespace(apply=lambda group, tokens: tokens)
        module = import_module(f"{LANGUAGE}.{self.kind[0]}")
        owner, folder = getattr(module, self.kind[1]), self.start.parts["vision_tower"]
        llava_arch.build_image_tower = lambda config, **given: CLIPVisionTower(folder, config, **given)
        module.SUPPORT_BF16 = module.SUPPORT_FP16 = False  # Qwen would choose another type than the entry's
        config = owner.config_class.from_pretrained(self.start.folder, local_files_only=True)
        config.bf16 = config.fp16 = config.fp32 = False
        config.image_aspect_ratio = self.start.settings.get("image_aspect_ratio")
        options = {"torch_dtype": dtype, "use_safetensors": True, "local_files_only": True}
        model = owner.from_pretrained(self.start.folder, config=config, **options)
        tower = model.get_image_tower()
        tower.load_model()
        tower.to(dtype=dtype)
        self.model, self.images = model.to(self.device).eval(), tower.image_processor

    def pixels(self, shown: list[Any]) -> dict[str, Any]:
        """See LlavaFamily.pixels."""
        from moellava.mm_utils import process_images

        made = process_images(shown, self.images, self.model.config)
        return {"images": made.to(self.device, self.model.dtype)}

    def logits(self, inputs: dict[str, Any]) -> Any:
        """See TorchModel.logits."""
        import torch

        torch.manual_seed(SEED)
        return super().logits({**inputs, "return_dict": True})

    def generate(self, inputs: dict[str, Any], **options: Any) -> Any:
        """See TorchModel.generate."""
        import torch

        if not options["do_sample"]:
            torch.manual_seed(SEED)
        ends = dict.fromkeys(("pad_token_id", "eos_token_id"), self.tokenizer.eos_token_id)
        return self.model.generate(**inputs, **ends, **options)
