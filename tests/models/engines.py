"""Engines of small models, and what the simplest code says of the same prompts: one prompt, all logits."""

import copy
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from pytest import approx

from tests.models.tiny import sentence
from vouch.models.config import BeamSearch, ExtractConfig
from vouch.models.engine import Answered, Decoding, Engine, LetterAnswer, Pack, Question, Refusal, TextAnswer

CONFIG = ExtractConfig(batch=4, bucket=8, threads=1, device="cpu")


@cache
def _kept(folder: Path, dtype: str, template: str | None) -> Any:
    from vouch.models.decoder.engine import load_model

    return load_model(folder, dtype, template, CONFIG)


def _opened(folder: Path, dtype: str, template: str | None, own: bool) -> Any:
    kept = _kept(folder, dtype, template)
    return replace(kept, model=copy.deepcopy(kept.model)) if own else kept


def shared(
    folder: Path, dtype: str = "float32", template: str | None = None, own: bool = False, **config: Any
) -> Any:
    """The engine for decoders in its fastest mode; keywords change the config.

    own: a model that the test may change.
    """
    from vouch.models.decoder.answering import SharedPrefix
    from vouch.models.decoder.decoding import ends
    from vouch.models.decoder.passes import Forward
    from vouch.models.decoder.preparing import Preparer

    loaded = _opened(folder, dtype, template, own)
    ready = Preparer.of(loaded, template)
    forward = Forward(loaded.model, loaded.device, ready.vocabulary, loaded.processor.tokenizer.pad_token_id)
    return SharedPrefix(forward, ready, CONFIG.model_copy(update=config), "trie", ends(loaded.model))


def apart(folder: Path, template: str, own: bool = False, **config: Any) -> Any:
    """The engine for encoder-decoders."""
    from vouch.models.decoder.encoder_decoder import EncoderDecoder

    loaded = _opened(folder, "float32", template, own)
    return EncoderDecoder(loaded, template, CONFIG.model_copy(update=config))


@cache
def image(index: int) -> Image.Image:
    rng = random.Random(index)
    return Image.frombytes("RGB", (30 + index, 20), rng.randbytes(3 * (30 + index) * 20))


def question(index: int, words: int, shown: Sequence[int] | None = None, **changes: Any) -> Question:
    """A question about image `index` or those of `shown`, of so many words."""
    text = sentence(random.Random(index), words)
    images = tuple(image(number) for number in ([index] if shown is None else shown))
    given = {"id": f"q{index}", "system": None, "text": text, "labels": "ABCD", "images": images}
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


OPTIONS = ("red one", "blue", "dog house the", "a cat", "red dog two")


def packs_of(output: str, most: int = 2) -> list[list[Question]]:
    """Packs of an output: with one image, with two (at most so many), and without any."""
    asked = []
    for pack, sizes in enumerate([(3, 5, 12), (1,), (7, 2), (4, 4, 9), (2, 8)]):
        shown = [[pack], [pack], [pack, 9][:most], [pack], []][pack]
        asked.append([question(10 * pack + number, size, shown) for number, size in enumerate(sizes)])
    if output == "likelihood":
        return [[replace(one, labels=(), options=OPTIONS[: 2 + len(one.id)]) for one in p] for p in asked]
    if output == "text":
        given: dict[str, Any] = {"labels": (), "decodings": (Decoding(), Decoding(0.7, 1, 5))}
        return [[replace(one, max_tokens=1 + len(p), **given)] for p in asked for one in p]
    return asked


def letters_of(one: Answered) -> LetterAnswer:
    assert isinstance(one.answer, LetterAnswer), one.answer
    return one.answer


def text_of(one: Answered) -> TextAnswer:
    assert isinstance(one.answer, TextAnswer), one.answer
    return one.answer


def refusal(one: Answered) -> str:
    assert isinstance(one.answer, Refusal), one.answer
    return one.answer.problem


def ids_of(folder: Path, words: Sequence[str]) -> list[int]:
    ids: list[int] = loaded(folder)[1].tokenizer.convert_tokens_to_ids(list(words))
    return ids


@torch.no_grad()
def plain_logits(folder: Path, written: str, images: Sequence[Any]) -> torch.Tensor:
    """[n, tokens of the tokenizer] logits at every place of a prompt, all images first in their order."""
    model, processor = loaded(folder)
    inputs = processor(text=written, images=list(images) or None, return_tensors="pt")
    logits: torch.Tensor = model(**inputs).logits[0, :, : len(processor.tokenizer)]
    return logits


def written(question: Question) -> str:
    """What tiny.CHAT makes of a question without image placeholders."""
    lines = [f"SYSTEM: {question.system}"] if question.system else []
    asked = [*question.turns, (question.text, None)]
    for place, (text, answer) in enumerate(asked):
        lines.append("USER:" + " <image>" * (len(question.images) if place == 0 else 0) + f" {text}")
        lines += [f"ASSISTANT: {answer}"] if answer is not None else []
    response = f" {question.response}" if question.response else ""
    return "\n".join([*lines, "ASSISTANT:" + response])


class Plain:
    """The tiny LLaVA of a folder asked the plain way: one whole prompt a pass, with nothing of extract's code."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _asked(self, text: str, shown: Image.Image | None, turns: Sequence[tuple[str, str]]) -> Any:
        images = () if shown is None else (shown,)
        return written(Question("", None, text, turns=turns, images=images)), images

    def letters(self, text: str, shown: Image.Image | None, labels: str, turns: Any = ()) -> list[float]:
        """Logits of the marks at the first place of the answer."""
        logits = plain_logits(self._folder, *self._asked(text, shown, turns))[-1]
        return [float(one) for one in logits[ids_of(self._folder, labels)]]

    def nll(self, text: str, shown: Image.Image | None, option: str, turns: Any = ()) -> float:
        """Negative log-likelihood of an option as the answer."""
        said, images = self._asked(text, shown, turns)
        ids = ids_of(self._folder, option.split())
        logits = plain_logits(self._folder, f"{said} {option}", images)[-len(ids) - 1 : -1]
        return -float(logits.log_softmax(-1)[range(len(ids)), ids].sum())

    def text(self, text: str, shown: Image.Image | None, most: int, turns: Any = ()) -> str:
        """The greedy answer."""
        said, images = self._asked(text, shown, turns)
        model, processor = loaded(self._folder)
        inputs = processor(text=said, images=list(images) or None, return_tensors="pt")
        beyond = list(range(len(processor.tokenizer), model.config.text_config.vocab_size))
        found = model.generate(**inputs, max_new_tokens=most, do_sample=False, suppress_tokens=beyond)
        return str(
            processor.tokenizer.decode(found[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        )


def check_generated(folder: Path, one: Question, inputs: Any, answer: TextAnswer, end: int) -> None:
    """A greedy answer is what transformers itself generates, with the logits of its own steps."""
    model, processor = loaded(folder)
    words = len(processor.tokenizer)
    result = model.generate(
        **inputs,
        max_new_tokens=one.max_tokens,
        do_sample=False,
        suppress_tokens=list(range(words, words + 3)),  # rows of the vocabulary without a token
        return_dict_in_generate=True,
        output_logits=True,
    )
    log_probs = torch.stack(result.logits)[:, 0, :words].log_softmax(-1)
    tokens = result.sequences[0, -len(log_probs) :]
    assert answer.text == processor.tokenizer.decode(tokens, skip_special_tokens=True)
    assert torch.tensor(answer.logprobs) == approx(log_probs.gather(1, tokens[:, None])[:, 0], abs=1e-4)
    entropies = -(log_probs.exp() * log_probs).sum(-1) / math.log(words)
    assert answer.entropies is not None
    assert torch.tensor(answer.entropies) == approx(entropies, abs=1e-4)
    assert answer.eos == (len(tokens) - 1 if tokens[-1] == end else None)


SEARCHES = (
    BeamSearch(beams=5),
    BeamSearch(beams=2, length_penalty=-1),
    BeamSearch(beams=3, length_penalty=2),
    BeamSearch(beams=5, repetition_penalty=1.5),
)


def check_searched(folder: Path, one: Question, inputs: Any, answer: TextAnswer, end: int) -> None:
    """The best of several beams is that of transformers' own search, over the tokenizer's words."""
    from transformers import LogitNormalization, LogitsProcessorList, SuppressTokensLogitsProcessor
    from transformers.generation import RepetitionPenaltyLogitsProcessor

    model, processor = loaded(folder)
    words, encoder = len(processor.tokenizer), getattr(model.config.text_config, "is_encoder_decoder", False)
    search = one.decodings[0].search
    assert search is not None
    before = 1 if encoder else inputs["input_ids"].shape[1]
    processors = LogitsProcessorList(
        [
            SuppressTokensLogitsProcessor(list(range(words, words + 3))),
            LogitNormalization(),
            RepetitionPenaltyLogitsProcessor(search.repetition_penalty, prompt_ignore_length=before),
        ]
    )
    result = model.generate(
        **inputs,
        max_new_tokens=one.max_tokens,
        do_sample=False,
        num_beams=search.beams,
        length_penalty=search.length_penalty,
        logits_processor=processors,
        return_dict_in_generate=True,
        output_scores=True,
    )
    tokens = result.sequences[0][before:].tolist()
    ended = end in tokens
    count = tokens.index(end) + 1 if ended else len(tokens)
    assert answer.text == processor.tokenizer.decode(tokens[:count], skip_special_tokens=True)
    assert answer.logprobs is not None and len(answer.logprobs) == count
    assert answer.eos == (count - 1 if ended else None)
    if search.repetition_penalty == 1:
        score = math.fsum(answer.logprobs) / count**search.length_penalty
        assert score == approx(float(result.sequences_scores[0]), rel=1e-5)
