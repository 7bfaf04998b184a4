"""A pinned model of the transformers library as an encoder. Imports torch: load this file late.

A model with an image and a text side (CLIP) gives its projected features, a text encoder the mean over the
last layer's tokens. Nothing is normalised. Texts are cut at the length that the model can read, or the length
that its folder states if it is one of sentence-transformers. Only texts of equally many tokens share a pass,
so none is padded.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image

from vouch.models.encoders.config import ImageEncoderConfig, TextEncoderConfig
from vouch.models.encoders.vectors import Encoded, Encoder, Vectors, encoded
from vouch.models.loading import (
    LOCAL,
    foreign,
    image_processor,
    load_weights,
    opening,
    pinned_folder,
    prepare_device,
)
from vouch.models.sandbox import check_tokenizer
from vouch.pipeline.errors import UserError
from vouch.tables.answered import Pin, read_json

DIGITS = 12  # of a pin's digest, to name it in a table
UNREAD = "pooler."  # weights that text encoders are often saved without; nothing here reads what they compute
WHAT, ADVICE = (
    "cannot be loaded as an encoder",
    "take a model such as CLIP or BERT in the form of transformers",
)
ENDS = ("cls", "sep", "bos", "eos")  # tokens that a tokenizer puts at the ends of a text


def load(pin: Pin, config: ImageEncoderConfig) -> Encoder:
    """The encoder that a pin names. Raises UserError if its files are not as pinned, or no encoder."""
    folder, device, model = _loaded(pin, config)
    name, notes = encoder_name(pin), {"device": device}
    reads = {name: hasattr(model, f"get_{name}_features") for name in ("text", "image")}
    if all(reads.values()):
        images, texts = (
            _image_side(folder, pin.processor, model, device),
            _TextSide(folder, model, device),
        )
        return Encoder(name, images, lambda given: texts.encode(given, config.batch, True), notes)
    if model.main_input_name == "input_ids" and not any(reads.values()):
        texts = _TextSide(folder, model, device)
        return Encoder(name, questions=lambda given: texts.encode(given, config.batch, False), notes=notes)
    raise UserError(
        f"{folder}: a {model.config.model_type} gives no features of texts and images; take a model "
        "such as CLIP or BERT"
    )


class TextEncoder:
    """A text encoder whose tokens are compared. name: for the table; device: what it runs on."""

    def __init__(self, pin: Pin, config: TextEncoderConfig) -> None:
        """Raises UserError if the files are not those pinned, or hold no model that encodes texts."""
        folder, self.device, model = _loaded(pin, config)
        self.name, self._config = encoder_name(pin), config
        if model.main_input_name != "input_ids" or hasattr(model, "get_image_features"):
            raise UserError(
                f"{folder}: a {model.config.model_type} is no encoder of texts alone; "
                "take a model such as BERT"
            )
        layers = model.config.num_hidden_layers
        if config.layer is not None and config.layer > layers:
            raise UserError(
                f"params.yaml: embed.texts.layer: {pin.model} has layers 0 ... {layers}, found {config.layer}"
            )
        self._model, self._text = model, _TextSide(folder, model, self.device)
        ends = [getattr(self._text.tokenizer, f"{name}_token_id") for name in ENDS]
        self._added = np.array([token for token in ends if token is not None])

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """The encoded texts, in the order given."""
        encodings: dict[int, Encoded] = {}
        layer = -1 if self._config.layer is None else self._config.layer
        for rows, tokens in self._text.batches(texts, self._config.batch):
            with foreign(self._text.folder, "fails at texts", ADVICE), torch.inference_mode():
                states = self._model(input_ids=tokens, output_hidden_states=True).hidden_states[layer]
            own = ~np.isin(tokens.cpu().numpy(), self._added)
            for row, vectors, counted in zip(rows, _numbers(self._text.folder, states), own, strict=True):
                encodings[row] = encoded(vectors, counted)
        return [encodings[row] for row in range(len(texts))]


def _image_side(
    folder: Path, settings: Mapping[str, Any], model: Any, device: str
) -> Callable[[Sequence[Image.Image]], Vectors]:
    """A function from n images to [n, width]. Raises UserError if the folder has no image processor."""
    with opening(folder, WHAT, ADVICE):
        processor = image_processor(folder, settings)

    def encode(images: Sequence[Image.Image]) -> Vectors:
        with foreign(folder, "fails at images", ADVICE), torch.inference_mode():
            pixels = processor(images=list(images), return_tensors="pt")["pixel_values"]
            features = model.get_image_features(pixel_values=pixels.to(device, model.dtype))
            return _numbers(folder, features.pooler_output)

    with opening(folder, "fails at a blank image", ADVICE):
        encode([Image.new("RGB", (64, 48))])
    return encode


def _numbers(folder: Path, vectors: torch.Tensor) -> Vectors:
    """Vectors as a numpy array. Raises UserError if they are not finite: no distance could be computed."""
    numbers = np.asarray(vectors.float().cpu().numpy())
    if not np.isfinite(numbers).all():
        raise UserError(f"{folder}: gives vectors that are not finite; take another model, or dtype float32")
    return numbers


class _TextSide:
    """The text side of a loaded model with its tokenizer. Raises UserError if the folder has none."""

    def __init__(self, folder: Path, model: Any, device: str) -> None:
        check_tokenizer(folder)
        with opening(folder, WHAT, ADVICE):
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **LOCAL)
            # Some tokenizers declare a limit of their own.
            limits = [*_declared_limits(folder), *_position_limits(model), self.tokenizer.model_max_length]
            self._cut = {"truncation": True, "max_length": min(filter(None, limits))} if any(limits) else {}
        self.folder, self._model, self._device = folder, model, device

    def batches(self, texts: Sequence[str], size: int) -> Iterator[tuple[list[int], Any]]:
        """Rows of texts that have equally many tokens, at most `size`, and their tokens [rows, tokens]."""
        with foreign(self.folder, "fails at texts", ADVICE):
            tokens = self.tokenizer(list(texts), **self._cut)["input_ids"] if len(texts) else []
        by_length = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
        for _, group in groupby(by_length, key=lambda row: len(tokens[row])):
            rows = list(group)
            for start in range(0, len(rows), size):
                chosen = rows[start : start + size]
                yield chosen, torch.tensor([tokens[row] for row in chosen], device=self._device)

    def encode(self, texts: Sequence[str], size: int, projected: bool) -> Vectors:
        """[n, width]: the projected features, or the mean over tokens."""
        vectors: list[Vectors] = [np.empty(0, dtype=np.float32)] * len(texts)
        for rows, tokens in self.batches(texts, size):
            with foreign(self.folder, "fails at texts", ADVICE), torch.inference_mode():
                if projected:
                    features = self._model.get_text_features(input_ids=tokens).pooler_output
                else:
                    features = self._model(input_ids=tokens).last_hidden_state.mean(dim=1)
            for row, vector in zip(rows, _numbers(self.folder, features), strict=True):
                vectors[row] = vector
        return np.stack(vectors)


def _declared_limits(folder: Path) -> Iterator[int]:
    """The most tokens of a text by the folder's sentence-transformers settings."""
    for path in sorted(folder.glob("sentence_*_config.json")):
        most = read_json(path).get("max_seq_length")
        if most is not None and (type(most) is not int or most < 1):
            raise UserError(
                f"{path}: max_seq_length is {most!r:.40}; give the number of tokens that it reads"
            )
        if most is not None:
            yield most


def _position_limits(model: Any) -> Iterator[int]:
    """Number of positions a model has for a text's tokens; RoBERTa and the like reserve some for padding."""
    yield getattr(model.config.get_text_config(), "max_position_embeddings", None) or 0
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            yield module.num_embeddings - module.padding_idx - 1


def encoder_name(pin: Pin) -> str:
    """The name of a pinned encoder in tables."""
    return f"{pin.model} {pin.digest[:DIGITS]}"


def _loaded(pin: Pin, config: ImageEncoderConfig | TextEncoderConfig) -> tuple[Path, str, Any]:
    """Folder, device and model in evaluation mode. Raises UserError, one line, whatever is wrong with it."""
    folder = pinned_folder(pin)
    device = prepare_device(config.device, config.threads)
    with opening(folder, WHAT, ADVICE):
        auto = transformers.AutoModel
        model, device = load_weights(auto, folder, pin.dtype, config.device, device, unread=UNREAD)
    return folder, device, model
