"""InternVL2 of all sizes by its authors' code.

The model's folder may be that of the hub, whose copy of this code is not run. Conversation and image are
prepared as by eval/mmbench/evaluate_mmbench.py with --dynamic. Setting:

    tiles  the most tiles of an image, its thumbnail not counted; 6. The model cards have 12
"""

from __future__ import annotations

from typing import Any

from vouch_driver import Question, TorchModel, without_places

ABOUT = {
    "repository": "OpenGVLab/InternVL",
    "commit": "2410d1dbf208f0e799459aff9376e5747dbf41a2",
    "licence": "MIT",
    "folder": "internvl_chat",
    "environment": "internvl2",
    "models": {
        "parc": [
            "InternVL2-1B",
            "InternVL2-2B",
            "InternVL2-4B",
            "InternVL2-8B",
            "InternVL2-26B",
            "InternVL2-40B",
        ],
        "tu": ["InternVL"],
    },
}
MARK, TILE = "<image>", "<IMG_CONTEXT>"


class Model(TorchModel):
    """See TorchModel."""

    def __init__(self, start: Any) -> None:
        from internvl.conversation import get_conv_template
        from internvl.model.internlm2.tokenization_internlm2 import InternLM2Tokenizer
        from internvl.model.internvl_chat import InternVLChatConfig
        from transformers import AutoTokenizer

        super().__init__(start)
        self.config = InternVLChatConfig.from_pretrained(start.folder, local_files_only=True)
        own = self.config.llm_config.architectures[0] == "InternLM2ForCausalLM"
        words, options = InternLM2Tokenizer if own else AutoTokenizer, {} if own else {"use_fast": False}
        self.tokenizer = words.from_pretrained(start.folder, local_files_only=True, **options)
        self.conversation = get_conv_template(self.config.template)
        self.end = self.conversation.sep.strip()

    def load(self) -> None:
        """See Model.load."""
        from internvl.model.internvl_chat import InternVLChatModel
        from internvl.train.dataset import build_transform

        self.device, dtype = self.choose_device()
        options = {"torch_dtype": dtype, "use_safetensors": True, "local_files_only": True}
        model = InternVLChatModel.from_pretrained(self.start.folder, **options)
        model.img_context_token_id = self.tokenizer.convert_tokens_to_ids(TILE)
        self.model = model.to(self.device).eval()
        self.side = self.config.force_image_size or self.config.vision_config.image_size
        self.pixels = build_transform(is_train=False, input_size=self.side)

    def prompt(self, question: Question) -> str:
        """As InternVLChatModel.chat writes it; several images are numbered, as in the model cards."""
        talk, count = self.conversation.copy(), len(question.images)
        talk.system_message = getattr(self.config, "system_message", talk.system_message)
        if question.system is not None:
            talk.system_message = question.system
        names = [f"Image-{index + 1}: " if count > 1 else "" for index in range(count)]
        shown = "".join(f"{name}{MARK}\n" for name in names)
        for index, (asked, answer) in enumerate([*question.turns, (question.text, None)]):
            asked = without_places(asked, MARK)
            talk.append_message(talk.roles[0], shown + asked if index == 0 else asked)
            talk.append_message(talk.roles[1], answer)
        return without_places(str(talk.get_prompt()) + (question.response or ""), TILE)

    def encode(self, text: str) -> list[int]:
        """See TorchModel.encode. Raises Refused for the token of an image's tile."""
        return super().encode(without_places(text, TILE))

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs; an image becomes tiles, each of them a row of tokens."""
        import torch

        tiles = [self._tiles(path) for path in question.images]
        for some in tiles:
            row = TILE * self.model.num_image_token * len(some)
            prompt = prompt.replace(MARK, f"<img>{row}</img>", 1)
        ids = self.tensor([self.tokenizer(prompt)["input_ids"]])
        given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if tiles:
            given["pixel_values"] = torch.cat(tiles).to(self.device, self.model.dtype)
        return given

    def _tiles(self, path: str) -> Any:
        import torch
        from internvl.train.dataset import dynamic_preprocess
        from PIL import Image

        options = {"use_thumbnail": self.config.use_thumbnail, "max_num": self.start.settings.get("tiles", 6)}
        shown = Image.open(path).convert("RGB")
        return torch.stack(
            [self.pixels(one) for one in dynamic_preprocess(shown, image_size=self.side, **options)]
        )

    def logits(self, inputs: dict[str, Any]) -> Any:
        """See TorchModel.logits; without an image, those of the language model."""
        if "pixel_values" not in inputs:
            return self.model.language_model(**inputs).logits[0]
        flags = self.tensor([[1]] * len(inputs["pixel_values"]))
        return self.model(**inputs, image_flags=flags).logits[0]

    def generate(self, inputs: dict[str, Any], **options: Any) -> Any:
        """See TorchModel.generate."""
        return self.model.generate(
            **inputs, **options, eos_token_id=self.tokenizer.convert_tokens_to_ids(self.end)
        )
