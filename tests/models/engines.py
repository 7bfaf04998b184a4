"""Engines of small models, and what the simplest code says of the same prompts: one prompt, all logits."""

import random
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from tests.models.tiny import sentence
from vouch.models.requests.config import Config
from vouch.models.requests.engine import Answered, Engine, Pack, Question

CONFIG = Config(batch=4, bucket=8, threads=1, device="cpu")


@cache
def _kept(folder: Path, dtype: str, template: str | None) -> Any:
    from vouch.models.loading.model_loading import load_model

    return load_model(folder, dtype, template, CONFIG)


def shared(
    folder: Path, dtype: str = "float32", template: str | None = None, own: bool = False, **config: Any
) -> Any:
    """The engine for decoders in its fastest mode; keywords change the config.

    own: a model that the test may change.
    """
    from vouch.models.decoder.decoding import Decoder, ends
    from vouch.models.decoder.forward import Forward
    from vouch.models.decoder.preparing import Preparer
    from vouch.models.decoder.shared_prefix import SharedPrefix

    loaded = (_kept.__wrapped__ if own else _kept)(folder, dtype, template)
    ready = Preparer.of(loaded, template)
    forward = Forward(loaded.model, loaded.device, ready.vocabulary, loaded.processor.tokenizer.pad_token_id)
    decoder = Decoder(ready.decode, ends(loaded.model))
    return SharedPrefix(forward, ready, CONFIG.model_copy(update=config), "trie", decoder)


def apart(folder: Path, template: str, own: bool = False, **config: Any) -> Any:
    """The engine for encoder-decoders."""
    from vouch.models.decoder.encoder_decoder import encoder_decoder

    loaded = (_kept.__wrapped__ if own else _kept)(folder, "float32", template)
    return encoder_decoder(loaded, template, CONFIG.model_copy(update=config))


@cache
def picture(index: int) -> Image.Image:
    rng = random.Random(index)
    return Image.frombytes("RGB", (30 + index, 20), rng.randbytes(3 * (30 + index) * 20))


def question(index: int, words: int, shown: Sequence[int] | None = None, **changes: Any) -> Question:
    """A question about picture `index` or those of `shown`, of so many words."""
    text = sentence(random.Random(index), words)
    pictures = tuple(picture(number) for number in ([index] if shown is None else shown))
    given = {"id": f"q{index}", "system": None, "text": text, "marks": "ABCD", "pictures": pictures}
    return Question(**{**given, **changes})


def answered(engine: Engine, output: str, packs: Iterable[Sequence[Question]]) -> dict[Any, Answered]:
    """Every answer by its question's id, for text by (id, temperature, sample)."""
    found: dict[Any, Answered] = {}
    for one in engine.answer(Pack(output, list(pack)) for pack in packs):
        key: Any = one.question
        if one.decoding is not None:
            key = one.question, one.decoding.temperature, one.decoding.sample
        assert key not in found
        found[key] = one
    return found


def alone(engine: Engine, output: str, questions: Iterable[Question]) -> dict[Any, Answered]:
    """The same with each question in a pack of its own."""
    return answered(engine, output, [[one] for one in questions])


@cache
def loaded(folder: Path) -> tuple[Any, Any]:
    """A model and its processor as transformers loads them."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    processor = AutoProcessor.from_pretrained(folder, backend="pil")
    return AutoModelForImageTextToText.from_pretrained(folder).eval(), processor


def ids_of(folder: Path, words: Sequence[str]) -> list[int]:
    ids: list[int] = loaded(folder)[1].tokenizer.convert_tokens_to_ids(list(words))
    return ids


@torch.no_grad()
def plain_logits(folder: Path, written: str, pictures: Sequence[Any]) -> torch.Tensor:
    """[n, tokens of the tokenizer] logits at every place of a prompt, all pictures first in their order."""
    model, processor = loaded(folder)
    inputs = processor(text=written, images=list(pictures) or None, return_tensors="pt")
    logits: torch.Tensor = model(**inputs).logits[0, :, : len(processor.tokenizer)]
    return logits


def written(question: Question) -> str:
    """What tiny.CHAT makes of a question without marks of pictures."""
    lines = [f"SYSTEM: {question.system}"] if question.system else []
    asked = [*question.turns, (question.text, None)]
    for place, (text, answer) in enumerate(asked):
        lines.append("USER:" + " <image>" * (len(question.pictures) if place == 0 else 0) + f" {text}")
        lines += [f"ASSISTANT: {answer}"] if answer is not None else []
    response = f" {question.response}" if question.response else ""
    return "\n".join([*lines, "ASSISTANT:" + response])
