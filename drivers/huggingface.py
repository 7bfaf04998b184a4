"""Models of the hub whose code is in their repository (`trust_remote_code`).

Settings, all optional:

    form      processor: a processor makes the inputs of texts and images
              images: a tokenizer, and an image processor whose pixels the model takes beside the tokens
              chat: the model's own `chat` function alone, so texts and no letters
              if left out, the first of these that the folder has
    class     class of transformers that loads it; if left out, the first that the folder's `auto_map` names
    prompt    how a prompt is written if there is no chat template: "USER: {images}{text} ASSISTANT:"
    image     what stands for an image in a prompt; "<image>"
    pixels    name of the forward argument that takes the pixels; "pixel_values"
    spelling  what stands between the prompt and a letter, "" or " "; if left out, by the prompt's end
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

from vouch_driver import Question, Refused, TorchModel

LOCAL = {"local_files_only": True, "trust_remote_code": True}
PLACE = re.compile(r"<image (\d+)>")


class Model(TorchModel):
    """See TorchModel."""

    def __init__(self, start: Any) -> None:
        import transformers

        super().__init__(start)
        self.settings, folder = start.settings, Path(start.folder)
        self.config = transformers.AutoConfig.from_pretrained(folder, **LOCAL)
        self.processor = self.pixels = None
        self.form = self.settings.get("form") or _form(folder)
        if self.form == "processor":
            self.processor = transformers.AutoProcessor.from_pretrained(folder, **LOCAL)
            self.tokenizer = self.processor.tokenizer
        else:
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **LOCAL)
        if self.form == "images":
            self.pixels = transformers.AutoImageProcessor.from_pretrained(folder, **LOCAL)
        self.spelling = self.settings.get("spelling")

    @property
    def outputs(self) -> list[str]:
        """Texts alone where only `chat` is known."""
        return ["text"] if self.form == "chat" else super().outputs

    def probe(self) -> dict[str, Any]:
        """See Model.probe."""
        return {} if self.form == "chat" else super().probe()

    def load(self) -> None:
        """See Model.load."""
        import transformers

        self.device, dtype = self.choose_device()
        named = getattr(self.config, "auto_map", None) or {}
        known = [
            name for name in ("AutoModelForCausalLM", "AutoModelForVision2Seq", "AutoModel") if name in named
        ]
        auto = getattr(transformers, self.settings.get("class") or (known or ["AutoModelForCausalLM"])[0])
        spread = {"device_map": "auto"} if self.start.device == "split" else {}
        model = auto.from_pretrained(
            self.start.folder, torch_dtype=dtype, use_safetensors=True, **spread, **LOCAL
        )
        self.model = (model if spread else model.to(self.device)).eval()

    def prompt(self, question: Question) -> str:
        """By the chat template, or as the setting `prompt` has it."""
        written = self.settings.get("prompt")
        template = getattr(self.processor, "chat_template", None) or getattr(
            self.tokenizer, "chat_template", None
        )
        if not written and not template:
            raise ValueError("the model has no chat template; write the setting `prompt` into models.lock")
        if written:
            if question.turns or question.system:
                raise Refused("the setting `prompt` has no place for a system message or earlier turns")
            images = self.settings.get("image", "<image>") * len(question.images)
            text = written.format(images=images, text=PLACE.sub("", question.text))
        else:
            text = (self.processor or self.tokenizer).apply_chat_template(
                self.messages(question), tokenize=False, add_generation_prompt=True
            )
        return text + (question.response or "")

    def messages(self, question: Question) -> list[dict[str, Any]]:
        """Messages for a chat template; all images come first."""
        messages = [{"role": "system", "content": question.system}] if question.system is not None else []
        asked = [*question.turns, (question.text, None)]
        for index, (text, answer) in enumerate(asked):
            words, images = PLACE.sub("", text), len(question.images) if index == 0 else 0
            if self.processor:
                content: Any = [{"type": "image"}] * images + [{"type": "text", "text": words}]
            else:
                content = self.settings.get("image", "<image>") * images + words
            messages.append({"role": "user", "content": content})
            messages += [{"role": "assistant", "content": answer}] if answer is not None else []
        return messages

    def inputs(self, question: Question, prompt: str) -> dict[str, Any]:
        """See TorchModel.inputs."""
        shown = _opened(question)
        if self.processor:
            made = self.processor(text=[prompt], images=shown or None, return_tensors="pt")
            return {name: self._moved(value) for name, value in dict(made).items() if name != "labels"}
        given = super().inputs(question, prompt)
        if shown:
            made = self.pixels(images=shown, return_tensors="pt")
            given[self.settings.get("pixels", "pixel_values")] = self._moved(made["pixel_values"])
        return given

    def _moved(self, value: Any) -> Any:
        import torch

        if not isinstance(value, torch.Tensor):
            return value
        value = value.to(self.device)
        return value.to(self.model.dtype) if value.is_floating_point() else value

    def text(self, question: Question) -> dict[str, Any]:
        """See Model.text."""
        return _chatted(self, question) if self.form == "chat" else super().text(question)


def _form(folder: Path) -> str:
    """The way in which a folder is asked, by what it says of its code."""
    maps = {}
    for name in ("processor_config.json", "preprocessor_config.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            values = json.loads((folder / name).read_text("utf-8"))
            maps.update(values.get("auto_map") or {})
            maps.update({"processor": True} if "processor_class" in values else {})
    if "AutoProcessor" in maps or "processor" in maps:
        return "processor"
    return "images" if (folder / "preprocessor_config.json").is_file() else "chat"


def _opened(question: Question) -> list[Any]:
    from PIL import Image

    return [Image.open(path).convert("RGB") for path in question.images]


def _chatted(model: Model, question: Question) -> dict[str, Any]:
    """A text by the model's own `chat`, whose arguments tell which kind it is. Raises Refused."""
    if question.response or question.temperature:
        raise Refused("a chat function takes no beginning of an answer, and draws no samples")
    chat, tokenizer = model.model.chat, model.tokenizer
    names = inspect.signature(chat).parameters
    words = PLACE.sub("", question.text)
    options: dict[str, Any] = {"do_sample": False, "max_new_tokens": question.max_tokens, "num_beams": 1}
    model.model.generation_config.update(**options, top_k=None, top_p=None, temperature=None)
    given = {name: value for name, value in options.items() if name in names}
    if question.system is not None:
        if "system" not in names:
            raise Refused("its chat function takes no system message")
        given["system"] = question.system
    if "msgs" in names:  # MiniCPM-V
        messages = [
            {"role": "assistant" if index % 2 else "user", "content": [text]}
            for index, text in enumerate([part for turn in question.turns for part in turn] + [words])
        ]
        messages[0]["content"] = [*_opened(question), *messages[0]["content"]]
        given.update({"sampling": False} if "sampling" in names else {})
        reply = chat(image=None, msgs=messages, tokenizer=tokenizer, **given)
    elif "query" in names and hasattr(tokenizer, "from_list_format"):  # Qwen-VL
        parts = [{"image": path} for path in question.images] + [{"text": words}]
        if question.turns:
            raise Refused("earlier turns of this chat function would need their images")
        reply = chat(tokenizer, query=tokenizer.from_list_format(parts), history=None, **given)
    elif "query" in names and "image" in names:  # InternLM-XComposer2
        if len(question.images) > 1:
            raise Refused("its chat function takes one image")
        shown = question.images[0] if question.images else None
        reply = chat(
            tokenizer, query=words, image=shown, history=[list(turn) for turn in question.turns], **given
        )
    else:
        raise Refused(f"its chat function is of no known form ({', '.join(names)})")
    text = reply[0] if isinstance(reply, tuple) else reply
    return {"text": str(text), "logprobs": None, "entropies": None, "eos": None}
