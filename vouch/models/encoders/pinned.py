"""A model of the transformers library as an encoder, from its pinned folder.

Of a model with a picture and a text side (CLIP) its projected features, as they are compared with each other;
of a text encoder the mean over the last layer's tokens. Nothing is normalised. Texts are cut at the length
that the model can read.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from vouch.models.encoders.config import Pictures
from vouch.models.encoders.encoder import Encoder, Vectors
from vouch.models.encoders.loading import (
    LoadedText,
    encoder_name,
    load_text,
    loaded,
    prepare_device,
    unusable,
)
from vouch.models.loading.model_folder import pinned_folder
from vouch.pipeline.errors import UserError
from vouch.tables.pins import Pin


def load(pin: Pin, config: Pictures) -> Encoder:
    """The encoder that a pin names. Raises UserError where its files are not as pinned or no encoder."""
    folder = pinned_folder(pin)
    device = prepare_device(config.device, config.threads)
    name, notes = encoder_name(pin), {"device": device}
    model = loaded(folder, pin.dtype, device)
    reads = {name: hasattr(model, f"get_{name}_features") for name in ("text", "image")}
    if all(reads.values()):
        pictures = _Pictures(folder, model, device)
        texts = _Texts(load_text(folder, model, device), config.batch, projected=True)
        return Encoder(name, pictures.encode, texts.encode, notes)
    if model.main_input_name == "input_ids" and not any(reads.values()):
        texts = _Texts(load_text(folder, model, device), config.batch, projected=False)
        return Encoder(name, questions=texts.encode, notes=notes)
    raise UserError(
        f"{folder}: a {model.config.model_type} gives no features of texts and pictures; take a model "
        "such as CLIP or BERT"
    )


class _Pictures:
    def __init__(self, folder: Path, model: Any, device: str) -> None:
        import transformers

        from vouch.models.loading.model_loading import LOCAL

        # Pillow resizes everywhere, also where torchvision is installed.
        try:
            self._processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil", **LOCAL)
        except Exception as error:  # as with the weights
            raise unusable(folder, error) from None
        self._model, self._device = model, device

    def encode(self, pictures: Sequence[Image.Image]) -> Vectors:
        """[n, width]"""
        import torch

        inputs = self._processor(images=list(pictures), return_tensors="pt")
        pixels = inputs["pixel_values"].to(self._device, self._model.dtype)
        with torch.inference_mode():
            found = self._model.get_image_features(pixel_values=pixels)
        return np.asarray(found.pooler_output.float().cpu().numpy())


class _Texts:
    def __init__(self, text: LoadedText, size: int, projected: bool) -> None:
        self._text, self._size, self._projected = text, size, projected

    def encode(self, texts: Sequence[str]) -> Vectors:
        """[n, width]; only texts of equally many tokens share a pass, so that none is padded."""
        import torch

        vectors: list[Vectors] = [np.empty(0, dtype=np.float32)] * len(texts)
        for rows, tokens in self._text.batches(texts, self._size):
            with torch.inference_mode():
                if self._projected:
                    found = self._text.model.get_text_features(input_ids=tokens).pooler_output
                else:
                    found = self._text.model(input_ids=tokens).last_hidden_state.mean(dim=1)
            for row, vector in zip(rows, found.float().cpu().numpy(), strict=True):
                vectors[row] = vector
        return np.stack(vectors)
