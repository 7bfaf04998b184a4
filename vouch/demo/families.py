"""The families of models that the demo trains: LLaVA and Idefics3, built with the classes of transformers.

A family says how a model and its processor are built and where their parts are; everything else in training
is the same for all. In every family one patch of the vision tower is one cell of a scene, so an image is 16
image tokens; the language model is a Llama. The vision tower has one layer, because what it has to tell apart
is simple.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor, nn

from vouch.demo.config import Config
from vouch.demo.scenes.scene import CELL, SIZE
from vouch.demo.writing import IMAGE_TOKEN, MAX_TOKENS, build_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast, ProcessorMixin

PATCHES = (SIZE // CELL) ** 2
_HALF = [0.5, 0.5, 0.5]  # mean and deviation of the pixels, which brings them between -1 and 1


class Family(Protocol):
    """What a family must define."""

    def build_processor(self, thinks: bool = False) -> "ProcessorMixin":
        """Tokenizer and image processor. Any RGB image is resized to 64 x 64 whole: no side is cut off."""

    def build_model(self, config: Config, tokenizer: "PreTrainedTokenizerFast") -> "PreTrainedModel":
        """An untrained model, its weights drawn from torch's generator."""

    def pixel_values(self, images: Tensor) -> Tensor:
        """Images [B, 3, 64, 64] in the shape that the model takes."""

    def last_norm(self, model: "PreTrainedModel") -> nn.Module:
        """The norm before the output layer."""


class Llava:
    """A CLIP vision tower whose patches are projected into a Llama."""

    def build_processor(self, thinks: bool = False) -> "ProcessorMixin":
        """See Family."""
        from transformers import CLIPImageProcessorPil, LlavaProcessor

        size = {"height": SIZE, "width": SIZE}
        tokenizer = build_tokenizer(thinks=thinks)
        image_processor = CLIPImageProcessorPil(
            size=size, crop_size=size, do_center_crop=False, resample=2, image_mean=_HALF, image_std=_HALF
        )
        return LlavaProcessor(
            image_processor,
            tokenizer,
            patch_size=CELL,
            vision_feature_select_strategy="default",
            num_additional_image_tokens=1,
            chat_template=tokenizer.chat_template,
        )

    def build_model(self, config: Config, tokenizer: "PreTrainedTokenizerFast") -> "PreTrainedModel":
        """See Family."""
        from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

        whole = LlavaConfig(
            vision_config=CLIPVisionConfig(**_vision_settings(config), projection_dim=config.width),
            text_config=LlamaConfig(**_language_settings(config, tokenizer)),
            image_token_index=tokenizer.convert_tokens_to_ids(IMAGE_TOKEN),
            image_seq_length=PATCHES,
            vision_feature_select_strategy="default",
            vision_feature_layer=-1,
            tie_word_embeddings=True,
            attn_implementation="sdpa",
            dtype="float32",
        )
        return LlavaForConditionalGeneration(whole)

    def pixel_values(self, images: Tensor) -> Tensor:
        """See Family."""
        return images

    def last_norm(self, model: "PreTrainedModel") -> nn.Module:
        """See Family."""
        norm: nn.Module = model.model.language_model.norm
        return norm


class Idefics3:
    """A vision tower like SigLIP's whose patches a connector passes to a Llama."""

    # The processor puts these around an image's tokens, and looks for the last one.
    _SPECIAL: Mapping[str, str] = {
        "fake_image_token": "<fake_token_around_image>",
        "global_image_token": "<global-img>",
        "end_of_utterance_token": "<end_of_utterance>",
    }

    def build_processor(self, thinks: bool = False) -> "ProcessorMixin":
        """See Family. Images are not split into tiles: they are as large as one."""
        from transformers import Idefics3ImageProcessorPil, Idefics3Processor

        edge = {"longest_edge": SIZE}
        tokenizer = build_tokenizer(self._SPECIAL, thinks)
        image_processor = Idefics3ImageProcessorPil(
            size=edge,
            max_image_size=edge,
            do_image_splitting=False,
            resample=2,
            image_mean=_HALF,
            image_std=_HALF,
        )
        return Idefics3Processor(
            image_processor, tokenizer, image_seq_len=PATCHES, chat_template=tokenizer.chat_template
        )

    def build_model(self, config: Config, tokenizer: "PreTrainedTokenizerFast") -> "PreTrainedModel":
        """See Family."""
        from transformers import Idefics3Config, Idefics3ForConditionalGeneration

        whole = Idefics3Config(
            vision_config=_vision_settings(config),
            text_config={"model_type": "llama", **_language_settings(config, tokenizer)},
            image_token_id=tokenizer.convert_tokens_to_ids(IMAGE_TOKEN),
            scale_factor=1,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            attn_implementation="sdpa",
            dtype="float32",
        )
        return Idefics3ForConditionalGeneration(whole)

    def pixel_values(self, images: Tensor) -> Tensor:
        """See Family. A second axis counts the images of a prompt."""
        return images[:, None]

    def last_norm(self, model: "PreTrainedModel") -> nn.Module:
        """See Family."""
        norm: nn.Module = model.model.text_model.norm
        return norm


FAMILIES: Mapping[str, Family] = {"llava": Llava(), "idefics3": Idefics3()}


def build_model(config: Config, tokenizer: "PreTrainedTokenizerFast") -> "PreTrainedModel":
    """An untrained model, its weights drawn from the config's seed (torch's own generator is left alone)."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return FAMILIES[config.family].build_model(config, tokenizer)


def _vision_settings(config: Config) -> dict[str, Any]:
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


def _language_settings(config: Config, tokenizer: "PreTrainedTokenizerFast") -> dict[str, Any]:
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
