"""What a file of vouch/demo/training/families gives: the classes of a demo model, and where their parts are.

In every family one patch is one cell of a scene, so a picture is 16 image tokens; the language model
is a Llama. The vision tower has one layer: what it has to tell apart is simple.
"""

import importlib
from typing import TYPE_CHECKING, Any, Protocol, cast

from torch import Tensor, nn

from vouch.demo.scenes.scene import CELL, SIZE
from vouch.demo.training.config import Config
from vouch.demo.training.vocabulary import MAX_TOKENS

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast, ProcessorMixin

PATCHES = (SIZE // CELL) ** 2
HALF = [0.5, 0.5, 0.5]  # mean and deviation of the pixels: they come to lie between -1 and 1


class Family(Protocol):
    """The module of a family."""

    def build_processor(self, thinks: bool = False) -> "ProcessorMixin":
        """Tokenizer and image processor. Any RGB image is resized to 64 x 64 whole: no side is cut off."""

    def build_model(self, config: Config, tokenizer: "PreTrainedTokenizerFast") -> "PreTrainedModel":
        """An untrained model, its weights drawn from torch's generator."""

    def pixel_values(self, pictures: Tensor) -> Tensor:
        """Pictures [B, 3, 64, 64] as the model takes them."""

    def last_norm(self, model: "PreTrainedModel") -> nn.Module:
        """The norm before the output layer."""


def load_family(name: str) -> Family:
    """The family of that name."""
    return cast(Family, importlib.import_module(f"vouch.demo.training.families.{name}"))


def build_model(config: Config, tokenizer: "PreTrainedTokenizerFast") -> "PreTrainedModel":
    """An untrained model, its weights drawn from the config's seed (torch's own generator is left alone)."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return load_family(config.family).build_model(config, tokenizer)


def vision_settings(config: Config) -> dict[str, Any]:
    """Settings that the vision towers of all families share."""
    return {
        "hidden_size": config.width,
        "intermediate_size": 2 * config.width,
        "num_hidden_layers": 1,
        "num_attention_heads": config.heads,
        "image_size": SIZE,
        "patch_size": CELL,
        "initializer_range": 0.1,
    }


def language_settings(config: Config, tokenizer: "PreTrainedTokenizerFast") -> dict[str, Any]:
    """Settings of the Llama language model."""
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": config.width,
        "intermediate_size": 2 * config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.heads,
        "max_position_embeddings": MAX_TOKENS,
        # Embeddings of length one, whatever the width; the usual 0.02 suits widths in the thousands.
        "initializer_range": round(config.width**-0.5, 4),
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
        "tie_word_embeddings": True,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
