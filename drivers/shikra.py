"""Shikra by its authors' code. program.parts.vision_tower is the folder of its CLIP tower."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from vouch_driver import Question, Refused, TorchModel, without_places

ABOUT = {
    "repository": "shikras/shikra",
    "commit": "ff79a4ced85d21739e1a4c5cec9e1e8f896b962c",
    "licence": "CC-BY-NC-4.0",
    "environment": "shikra",
    "models": {"reform": ["Shikra"]},
}


class Model(TorchModel):
    """See TorchModel."""

    def __init__(self, start: Any) -> None:
        from transformers import AutoTokenizer, CLIPVisionConfig

        super().__init__(start)
        options = {"use_fast": False, "local_files_only": True}
        self.tokenizer = AutoTokenizer.from_pretrained(start.folder, **options)
        self.tokenizer.add_tokens(["<im_patch>", "<im_start>", "<im_end>"], special_tokens=True)
        tower = CLIPVisionConfig.from_pretrained(start.parts["vision_tower"], local_files_only=True)
        self.patches = (tower.image_size // tower.patch_size) ** 2

    def load(self) -> None:
        """See Model.load; the settings are those of config/_base_/model/shikra.py."""
        from mllm.models.builder.build_shikra import load_pretrained_shikra
        from mllm.models.shikra.shikra import ShikraConfig

        self.device, dtype = self.choose_device()
        tower = self.start.parts["vision_tower"]
        config = ShikraConfig.from_pretrained(self.start.folder, local_files_only=True)
        config.mm_vision_tower = tower
        model = SimpleNamespace(
            model_name_or_path=self.start.folder,
            cache_dir=None,
            model_max_length=2048,
            version="v1",
            vision_tower=tower,
            mm_vision_select_layer=-2,
            pretrain_mm_mlp_adapter=None,
            freeze_backbone=False,
            tune_mm_mlp_adapter=False,
            freeze_mm_mlp_adapter=False,
            mm_use_im_start_end=True,
            image_token_len=self.patches,
            sep_image_conv_front=False,
        )
        half, brain = (self.start.dtype == name for name in ("float16", "bfloat16"))
        training = SimpleNamespace(fp16=half, bf16=brain, device=self.device, fsdp=None)
        options = {"config": config, "torch_dtype": dtype, "local_files_only": True}
        loaded, made = load_pretrained_shikra(model, training, **options)
        loaded.config.use_cache = True
        self.model, self.images = loaded.to(self.device).eval(), made["image"]
        self.image_dtype = dtype

    def prompt(self, question: Question) -> str:
        """The conversation vicuna_v1.1; the image comes first. Raises Refused for several images."""
        from mllm.conversation import get_conv_template

        if len(question.images) > 1:
            raise Refused("Shikra takes one image")
        talk = get_conv_template("vicuna_v1.1")
        if question.system is not None:
            talk.system = question.system
        image = f"<im_start>{'<im_patch>' * self.patches}<im_end> " if question.images else ""
        for index, (asked, answer) in enumerate([*question.turns, (question.text, None)]):
            asked = without_places(asked, "<im_patch>")
            talk.append_message(talk.roles[0], image + asked if index == 0 else asked)
            talk.append_message(talk.roles[1], answer)
        return str(talk.get_prompt()) + (f" {question.response}" if question.response else "")

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs; an image becomes a white square, as Expand2square makes it."""
        from PIL import Image

        given = super().inputs(question, prompt)
        for path in question.images:
            image = Image.open(path).convert("RGB")
            side = max(image.size)
            square = Image.new("RGB", (side, side), (255, 255, 255))
            square.paste(image, ((side - image.width) // 2, (side - image.height) // 2))
            pixels = self.images.preprocess(square, return_tensors="pt")["pixel_values"]
            given["images"] = pixels.to(self.device, self.image_dtype)
        return given
