"""llava: LLaVA, a CLIP vision tower whose patches are projected into a Llama language model."""

from typing import TYPE_CHECKING

from torch import Tensor, nn

from vouch.demo.scenes.scene import CELL, SIZE
from vouch.demo.training.config import Config
from vouch.demo.training.family import HALF, PATCHES, language_settings, vision_settings
from vouch.demo.training.vocabulary import IMAGE_TOKEN, build_tokenizer

if TYPE_CHECKING:
    from transformers import LlavaForConditionalGeneration, LlavaProcessor, PreTrainedTokenizerFast


def build_processor(thinks: bool = False) -> "LlavaProcessor":
    """See Family."""
    from transformers import CLIPImageProcessorPil, LlavaProcessor

    size = {"height": SIZE, "width": SIZE}
    tokenizer = build_tokenizer(thinks=thinks)
    pictures = CLIPImageProcessorPil(
        size=size, crop_size=size, do_center_crop=False, resample=2, image_mean=HALF, image_std=HALF
    )
    return LlavaProcessor(
        pictures,
        tokenizer,
        patch_size=CELL,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=tokenizer.chat_template,
    )


def build_model(config: Config, tokenizer: "PreTrainedTokenizerFast") -> "LlavaForConditionalGeneration":
    """See Family."""
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    whole = LlavaConfig(
        vision_config=CLIPVisionConfig(**vision_settings(config), projection_dim=config.width),
        text_config=LlamaConfig(**language_settings(config, tokenizer)),
        image_token_index=tokenizer.convert_tokens_to_ids(IMAGE_TOKEN),
        image_seq_length=PATCHES,
        vision_feature_select_strategy="default",
        vision_feature_layer=-1,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
        dtype="float32",
    )
    return LlavaForConditionalGeneration(whole)


def pixel_values(pictures: Tensor) -> Tensor:
    """See Family."""
    return pictures


def last_norm(model: "LlavaForConditionalGeneration") -> nn.Module:
    """See Family."""
    norm: nn.Module = model.model.language_model.norm
    return norm
