"""Demo models asked about items with nothing but transformers, for tools/zoo_grades.py."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor

from vouch.datasets.raw import RawItem
from vouch.prompts.build.template import Template

BATCH = 50
LETTERS = "ABCDEF"


@dataclass(frozen=True)
class Asked:
    """One prompt: earlier turns, text, picture, and the right option's index or texts."""

    text: str
    picture: Image.Image
    answer: int
    count: int
    texts: tuple[str, ...] = ()
    turns: tuple[tuple[str, str], ...] = ()


class Model:
    """A demo model. `letters` [N, 6] are logits, -inf where a letter is not on offer."""

    def __init__(self, name: str) -> None:
        folder = Path("data/models") / name
        self._processor = AutoProcessor.from_pretrained(folder, backend="pil", local_files_only=True)
        self._model = AutoModelForImageTextToText.from_pretrained(folder, local_files_only=True).eval()
        self._ids = self._processor.tokenizer.convert_tokens_to_ids(list(LETTERS))

    def _batches(self, asked: Sequence[Asked]) -> Iterator[tuple[Sequence[Asked], Any]]:
        for first in range(0, len(asked), BATCH):
            rows = asked[first : first + BATCH]
            prompts = [
                self._processor.apply_chat_template(messages(row), add_generation_prompt=True) for row in rows
            ]
            pictures = [[row.picture] for row in rows]
            yield (
                rows,
                self._processor(text=prompts, images=pictures, return_tensors="pt", padding=True),
            )

    @torch.inference_mode()
    def letters(self, asked: Sequence[Asked]) -> np.ndarray:
        found = []
        for rows, inputs in self._batches(asked):
            logits = self._model(**inputs, logits_to_keep=1).logits[:, -1, self._ids].numpy()
            offered = np.arange(len(LETTERS)) < np.array([[row.count] for row in rows])
            found.append(np.where(offered, logits, -np.inf))
        return np.concatenate(found)

    @torch.inference_mode()
    def texts(self, asked: Sequence[Asked], samples: int = 0) -> list[list[str]]:
        """The greedy answer to each, or so many samples at temperature 1."""
        torch.manual_seed(0)
        options: Mapping[str, Any] = (
            {"do_sample": True, "num_return_sequences": samples} if samples else {"do_sample": False}
        )
        found = []
        for rows, inputs in self._batches(asked):
            tokens = self._model.generate(**inputs, max_new_tokens=4, **options)
            new = tokens[:, inputs["input_ids"].shape[1] :]
            said = [t.strip() for t in self._processor.batch_decode(new, skip_special_tokens=True)]
            each = len(said) // len(rows)
            found += [said[first : first + each] for first in range(0, len(said), each)]
        return found


def messages(asked: Asked) -> list[dict[str, Any]]:
    """The conversation as chat templates expect it, the picture in its first turn."""
    result: list[dict[str, Any]] = []
    for question, answer in asked.turns:
        result.append({"role": "user", "content": [{"type": "text", "text": question}]})
        result.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
    result.append({"role": "user", "content": [{"type": "text", "text": asked.text}]})
    result[0]["content"].insert(0, {"type": "image"})
    return result


def opened(item: RawItem) -> Image.Image:
    """What an item shows, its pictures side by side."""
    parts = [Image.open(BytesIO(data)).convert("RGB") for data in item.images if isinstance(data, bytes)]
    return Image.fromarray(np.concatenate([np.asarray(part) for part in parts], axis=1))


def choice(item: RawItem, template: Template, order: Sequence[int] | None = None, prefix: str = "") -> Asked:
    """The prompt of a multiple-choice item, its options in an order."""
    order = order if order is not None else range(len(item.options))
    texts = [*(str(item.options[i]) for i in order), *template.added.values()]
    text = template.render(None, prefix + item.question, list(zip(LETTERS, texts, strict=False)))
    return Asked(text, opened(item), list(order).index(item.answers[0]), len(texts))
