"""idefics3: Idefics3, a SigLIP-like vision tower whose patches a connector passes to a Llama."""

from typing import TYPE_CHECKING

from torch import Tensor, nn

from vouch.demo.scenes.scene import SIZE
from vouch.demo.training.config import Config
from vouch.demo.training.family import HALF, PATCHES, language_settings, vision_settings
from vouch.demo.training.vocabulary import IMAGE_TOKEN, build_tokenizer

if TYPE_CHECKING:
    from transformers import Idefics3ForConditionalGeneration, Idefics3Processor, PreTrainedTokenizerFast

# The processor puts these around a picture's tokens, and looks for the last one.
_SPECIAL = {
    "fake_image_token": "<fake_token_around_image>",
    "global_image_token": "<global-img>",
    "end_of_utterance_token": "<end_of_utterance>",
}


def build_processor(thinks: bool = False) -> "Idefics3Processor":
    """See Family. Pictures are not split into tiles: they are as large as one."""
    from transformers import Idefics3ImageProcessorPil, Idefics3Processor

    edge = {"longest_edge": SIZE}
    tokenizer = build_tokenizer(_SPECIAL, thinks)
    pictures = Idefics3ImageProcessorPil(
        size=edge,
        max_image_size=edge,
        do_image_splitting=False,
        resample=2,
        image_mean=HALF,
        image_std=HALF,
    )
    return Idefics3Processor(
        pictures, tokenizer, image_seq_len=PATCHES, chat_template=tokenizer.chat_template
    )


def build_model(config: Config, tokenizer: "PreTrainedTokenizerFast") -> "Idefics3ForConditionalGeneration":
    """See Family."""
    from transformers import Idefics3Config, Idefics3ForConditionalGeneration

    whole = Idefics3Config(
        vision_config=vision_settings(config),
        text_config={"model_type": "llama", **language_settings(config, tokenizer)},
        image_token_id=tokenizer.convert_tokens_to_ids(IMAGE_TOKEN),
        scale_factor=1,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        attn_implementation="sdpa",
        dtype="float32",
    )
    return Idefics3ForConditionalGeneration(whole)


def pixel_values(pictures: Tensor) -> Tensor:
    """See Family. A second axis counts the pictures of a prompt."""
    return pictures[:, None]


def last_norm(model: "Idefics3ForConditionalGeneration") -> nn.Module:
    """See Family."""
    norm: nn.Module = model.model.text_model.norm
    return norm
