"""Monkey and Monkey-Chat by their authors' code, and Qwen-VL by their copy of its code.

That copy cuts images into windows and returns them instead of what is seen in them, so for Qwen-VL the driver
calls the vision transformer itself. Prompts are those of input_utils/text_utils.py of
EnSec-AI/VLM-Uncertainty-Bench, with ` Answer:` on a line of its own.
Settings:

    bare_letters  true for Monkey-Chat, whose letters main.py reads without a space before them
    chat          true for the conversation of Qwen-VL-Chat's own `chat`
"""

from __future__ import annotations

import re
from typing import Any, Sequence

from vouch_driver import Again, Question, Refused, TorchModel, without_places

ABOUT = {
    "repository": "Yuliang-Liu/Monkey",
    "commit": "498e1d92baffad55ced3f661ecaa9c4c53b400c6",
    "licence": "MIT",
    "environment": "monkey",
    "models": {
        "kostumov": ["Monkey", "Monkey-Chat", "Qwen-VL", "Qwen-VL-Chat"],
        "parc": ["Qwen-VL", "Qwen-VL-Chat"],
    },
}
MARK, PLACE = "<img>", "<img></img>"  # an image's path stands between them when the model reads it
FLAGS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


class Model(TorchModel):
    """See TorchModel."""

    def __init__(self, start: Any) -> None:
        from monkey_model.configuration_qwen import QWenConfig
        from monkey_model.tokenization_qwen import QWenTokenizer

        super().__init__(start)
        self.config = QWenConfig.from_pretrained(start.folder, local_files_only=True)
        self.windows = self.config.architectures[0] == "MonkeyLMHeadModel"
        self.tokenizer = QWenTokenizer.from_pretrained(start.folder, local_files_only=True)
        self.tokenizer.eos_token = "<|endoftext|>"
        if not self.windows:
            self.tokenizer.IMG_TOKEN_SPAN = 256
            self.config.visual["lora_repeat_num"] = 0
        self.bare, self.chat = start.settings.get("bare_letters"), start.settings.get("chat")
        self.end = "<|im_end|>" if self.chat else ""

    def load(self) -> None:
        """See Model.load. FlashAttention is for training only, but would be asked for."""
        from monkey_model import modeling_monkey, modeling_qwen

        self.device, dtype = self.choose_device()
        modeling_qwen.use_flash_attention = False
        for name, flag in FLAGS.items():
            setattr(self.config, flag, name == self.start.dtype)
        owner = modeling_monkey.MonkeyLMHeadModel if self.windows else modeling_qwen.QWenLMHeadModel
        options = {"torch_dtype": dtype, "use_safetensors": True, "local_files_only": True}
        model = owner.from_pretrained(self.start.folder, config=self.config, **options)
        self.model = model.to(self.device).eval()
        if not self.windows:
            visual = self.model.transformer.visual
            cut = visual.encode
            visual.encode = lambda paths: visual(cut(paths)[1])

    def prompt(self, question: Question) -> str:
        """See TorchModel.prompt; all images come first."""
        count = len(question.images)
        pairs = [(without_places(asked, MARK), answer) for asked, answer in question.turns]
        text = without_places(question.text, MARK)
        if self.chat:
            return self._conversation(question.system, pairs, text, count) + (question.response or "")
        written = PLACE * count + (f"{question.system}\n" if question.system else "")
        for asked, answer in pairs:
            written += f"{asked}\nAnswer: {answer}\n"
        return f"{written}{text}\nAnswer:" + (f" {question.response}" if question.response else "")

    def _conversation(self, system: str | None, pairs: list[Any], text: str, count: int) -> str:
        """As Qwen-VL-Chat's own `chat` and `from_list_format` write it; Monkey's copy has no space."""
        shown = "".join(f"Picture {index + 1}: {PLACE}\n" for index in range(count))
        parts = ["system\n" + ("You are a helpful assistant." if system is None else system)]
        for index, (asked, answer) in enumerate([*pairs, (text, None)]):
            parts.append(f"user\n{shown if index == 0 else ''}{asked}")
            parts.append(f"assistant\n{answer or ''}")
        return "\n".join(f"<|im_start|>{part}<|im_end|>" for part in parts)[: -len("<|im_end|>")]

    def encode(self, text: str) -> list[int]:
        """See TorchModel.encode. Raises Refused for the path of an image that is not the question's."""
        if re.search(f"{MARK}(?!</img>)", text):
            raise Refused(f"the question has {MARK}, by which this model's code finds its images")
        return list(self.tokenizer(text)["input_ids"])

    def letters(self, question: Question) -> dict[str, Any]:
        """See Model.letters."""
        read = super().letters(question)
        return {**read, "spelling": ""} if self.bare else read

    def letter_ids(self, prompt: str, labels: Sequence[str]) -> tuple[int, list[int], list[int], list[int]]:
        """See TorchModel.letter_ids. A bare letter is tokenised alone: with the colon, `:A` is a token."""
        if not self.bare:
            return super().letter_ids(prompt, labels)
        read = [self.encode(label) for label in labels]
        if any(len(ids) != 1 for ids in read):
            raise Refused(f"{', '.join(labels)} are not one token each")
        return 0, [], [ids[0] for ids in read], []

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs; the model opens the files whose paths are among its tokens."""
        import torch

        for path in question.images:
            if len(path.encode()) >= self.tokenizer.IMG_TOKEN_SPAN:
                raise Again(
                    f"{path} has more than {self.tokenizer.IMG_TOKEN_SPAN - 1} bytes; take a shorter TMPDIR"
                )
            prompt = prompt.replace(PLACE, f"<img>{path}</img>", 1)
        ids = self.tensor([self.tokenizer(prompt)["input_ids"]])
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def generate(self, inputs: dict[str, Any], **options: Any) -> Any:
        """See TorchModel.generate."""
        ends = dict.fromkeys(("pad_token_id", "eos_token_id"), self.tokenizer.eod_id)
        return self.model.generate(**inputs, use_cache=True, **ends, **options)
