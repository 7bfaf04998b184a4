"""A model asked the plain way, one whole prompt per forward pass, with nothing of the stage's code."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

Turns = Sequence[tuple[str, str]]


class Plain:
    """The tiny LLaVA of a folder."""

    def __init__(self, folder: Path) -> None:
        import transformers

        self._model = transformers.LlavaForConditionalGeneration.from_pretrained(folder).eval()
        self._processor = transformers.AutoProcessor.from_pretrained(folder, backend="pil")
        self._words = self._processor.tokenizer

    def _inputs(self, text: str, picture: Image.Image | None, turns: Turns = ()) -> Any:
        said = [
            (role, part) for turn in turns for role, part in zip(("user", "assistant"), turn, strict=True)
        ]
        messages = [
            {"role": role, "content": [{"type": "text", "text": part}]}
            for role, part in [*said, ("user", text)]
        ]
        if picture is not None:
            messages[0]["content"].insert(0, {"type": "image"})
        rendered = self._processor.apply_chat_template(messages, add_generation_prompt=True)
        images = None if picture is None else [picture]
        return self._processor(text=[rendered], images=images, return_tensors="pt")

    def letters(self, text: str, picture: Image.Image | None, marks: str, turns: Turns = ()) -> list[float]:
        """Logits of the marks at the first place of the answer."""
        import torch

        with torch.no_grad():
            logits = self._model(**self._inputs(text, picture, turns)).logits[0, -1]
        return [float(logits[self._words.convert_tokens_to_ids(mark)]) for mark in marks]

    def likelihood(self, text: str, picture: Image.Image | None, option: str) -> tuple[float, int]:
        """Summed negative log-likelihood of an option as the answer, and its number of tokens."""
        import torch

        inputs = self._inputs(text, picture)
        tokens = self._words(option, add_special_tokens=False)["input_ids"]
        first = inputs["input_ids"].shape[1] - 1
        inputs["input_ids"] = torch.cat([inputs["input_ids"], torch.tensor([tokens])], dim=1)
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        with torch.no_grad():
            log_probs = self._model(**inputs).logits[0, :, : len(self._words)].log_softmax(dim=-1)
        return -sum(float(log_probs[first + place, token]) for place, token in enumerate(tokens)), len(tokens)

    def text(self, text: str, picture: Image.Image | None, most: int, turns: Turns = ()) -> str:
        """The greedy answer."""
        inputs = self._inputs(text, picture, turns)
        beyond = list(range(len(self._words), self._model.config.text_config.vocab_size))
        found = self._model.generate(**inputs, max_new_tokens=most, do_sample=False, suppress_tokens=beyond)
        return str(self._words.decode(found[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))
