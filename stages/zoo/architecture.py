"""The demo models' classes and sizes: LLaVA with a CLIP vision tower and a Llama language model.

One patch is one cell of a scene, so a picture is 16 tokens.
"""

from typing import TYPE_CHECKING

from stages.scenes.scene import CELL, SIZE
from stages.zoo.config import Config
from stages.zoo.vocabulary import IMAGE_TOKEN, MAX_TOKENS, build_tokenizer

if TYPE_CHECKING:
    from transformers import LlavaForConditionalGeneration, LlavaProcessor, PreTrainedTokenizerFast

PATCHES = (SIZE // CELL) ** 2


def build_processor() -> "LlavaProcessor":
    """Tokenizer and image processor. Any RGB image is resized to 64 x 64 whole: no side is cut off."""
    from transformers import CLIPImageProcessorPil, LlavaProcessor

    size = {"height": SIZE, "width": SIZE}
    half = [0.5, 0.5, 0.5]
    tokenizer = build_tokenizer()
    pictures = CLIPImageProcessorPil(
        size=size, crop_size=size, do_center_crop=False, resample=2, image_mean=half, image_std=half
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
    """An untrained model, its weights drawn from the config's seed (torch's own generator is left alone)."""
    import torch
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    vision = CLIPVisionConfig(
        hidden_size=config.width,
        intermediate_size=2 * config.width,
        projection_dim=config.width,
        num_hidden_layers=1,
        num_attention_heads=config.heads,
        image_size=SIZE,
        patch_size=CELL,
        initializer_range=0.1,
    )
    language = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=config.width,
        intermediate_size=2 * config.width,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.heads,
        max_position_embeddings=MAX_TOKENS,
        # Embeddings of length one, whatever the width; the usual 0.02 suits widths in the thousands.
        initializer_range=round(config.width**-0.5, 4),
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    whole = LlavaConfig(
        vision_config=vision,
        text_config=language,
        image_token_index=tokenizer.convert_tokens_to_ids(IMAGE_TOKEN),
        image_seq_length=PATCHES,
        vision_feature_select_strategy="default",
        vision_feature_layer=-1,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
        dtype="float32",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return LlavaForConditionalGeneration(whole)
