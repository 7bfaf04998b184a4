"""A text encoder of the transformers library, from its pinned folder."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vouch.models.encoders.bertscore import Encoded, encoded
from vouch.models.encoders.config import Texts
from vouch.models.encoders.loading import encoder_name, load_text, loaded, prepare_device
from vouch.models.loading.model_folder import pinned_folder
from vouch.pipeline.errors import UserError
from vouch.tables.pins import Pin

ENDS = ("cls", "sep", "bos", "eos")
"""Tokens that a tokenizer puts at the ends of a text."""


class TextEncoder:
    """name: for the table; device: what it runs on."""

    def __init__(self, pin: Pin, config: Texts) -> None:
        """Raises UserError where the files are not those pinned, or hold no model that encodes texts."""
        folder = pinned_folder(pin)
        self.name, self._config = encoder_name(pin), config
        self.device = prepare_device(config.device, config.threads)
        model = loaded(folder, pin.dtype, self.device)
        if model.main_input_name != "input_ids" or hasattr(model, "get_image_features"):
            raise _no_encoder(folder, model.config.model_type)
        layers = model.config.num_hidden_layers
        if config.layer is not None and config.layer > layers:
            raise UserError(
                f"params.yaml: embed.texts.layer: {pin.model} has layers 0 ... {layers}, found {config.layer}"
            )
        self._text = load_text(folder, model, self.device)
        ends = [getattr(self._text.tokenizer, f"{name}_token_id") for name in ENDS]
        self._added = np.array([token for token in ends if token is not None])

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Every text; only those of equally many tokens share a pass, so that none is padded."""
        import torch

        found: dict[int, Encoded] = {}
        layer = -1 if self._config.layer is None else self._config.layer
        for rows, tokens in self._text.batches(texts, self._config.batch):
            with torch.inference_mode():
                states = self._text.model(input_ids=tokens, output_hidden_states=True).hidden_states[layer]
            own = ~np.isin(tokens.cpu().numpy(), self._added)
            for row, vectors, counted in zip(rows, states.float().cpu().numpy(), own, strict=True):
                found[row] = encoded(vectors, counted)
        return [found[row] for row in range(len(texts))]


def _no_encoder(folder: Path, kind: str) -> UserError:
    return UserError(f"{folder}: a {kind} is no encoder of texts alone; take a model such as BERT")
