"""Every family of models that the engine for decoders must serve, as a tiny configuration of its own.

A family is a row of FAMILIES: what differs from TEXT and TOWER, and what its processor makes of an image. The table
of docs/architectures.md is made from it (tools/model_table.py).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from vouch.models.decoder.rows import Mode

ROWS = 320  # of the vocabulary's width; WORDS of them have a token
WORDS, IMAGE, EOS, WIDTH = 299, 300, 2, 64

Settings = dict[str, Any]
Tensors = dict[str, torch.Tensor]

TEXT: Settings = {
    "vocab_size": ROWS,
    "hidden_size": WIDTH,
    "intermediate_size": 2 * WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": EOS,
    "tie_word_embeddings": False,  # with tied ones of this strength a model repeats what it read
}
# 56 x 56 pixels in patches of 14, so 16 of them.
TOWER: Settings = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 56,
    "patch_size": 14,
}


def of_images(ids: torch.Tensor, prompt: int) -> torch.Tensor:
    """1 where a token stands for an image."""
    return (ids == IMAGE).long()


def of_answer(ids: torch.Tensor, prompt: int) -> torch.Tensor:
    """1 beyond the prompt: it sees all of itself, an answer what came before."""
    return (torch.arange(ids.shape[1]) >= prompt)[None].long()


def two_tiles(ids: torch.Tensor, prompt: int) -> torch.Tensor:
    """From an image's place on, up to the next one's, its two real tiles of four."""
    last = (ids == IMAGE).cumsum(dim=1)[:, :, None] == torch.arange(1, 2 + int((ids == IMAGE).sum() > 1))
    return last[..., None] * torch.tensor([1, 1, 0, 0])


@dataclass(frozen=True)
class Kind:
    """A family. places: tokens that an image takes. vision, text: beside TOWER and TEXT; more: of the whole.

    shown: tensors of an image, or shapes of noise. mode: the fastest sound one. beside: makes tensors beside
    tokens [1, n], of which the first so many are the prompt's. entries: those of models.lock, as patterns.
    chat: its template in tests/models/chat/templates.py. closing: tokens that end an image. joined: axis along which a prompt's images lie, None where
    it shows one alone.
    """

    model_type: str
    places: int
    vision: Settings
    text: Settings
    shown: Settings
    mode: Mode = "trie"
    beside: Mapping[str, Callable[[torch.Tensor, int], torch.Tensor]] = field(default_factory=dict)
    more: Settings = field(default_factory=dict)
    entries: str = ""
    chat: str = "qwen"
    joined: int | None = 0
    closing: tuple[int, ...] = ()


CLIP: Settings = {"model_type": "clip_vision_model", "projection_dim": 32}
SIGLIP: Settings = {"model_type": "siglip_vision_model", "vision_use_head": False}
LLAMA: Settings = {"model_type": "llama"}
QWEN2: Settings = {"model_type": "qwen2"}
PIXELS: Settings = {"pixel_values": (1, 3, 56, 56)}
# A whole view and four tiles; the image's size decides how many of their places are kept.
TILED = {"pixel_values": (1, 5, 3, 56, 56), "image_sizes": torch.tensor([[100, 112]])}
TILES = {"image_grid_pinpoints": [[56, 112], [112, 56], [112, 112]]}
# A few queries read the image.
QUERIES = 6
QUERY: Settings = {
    "num_query_tokens": QUERIES,
    "qformer_config": TOWER | {"vocab_size": 100, "encoder_hidden_size": 32},
}
QFORMER = {"qformer_input_ids": torch.arange(7)[None], "qformer_attention_mask": torch.ones((1, 7)).long()}
# Most layers see a window only; the tokens of an image see each other.
GEMMA3: Settings = {
    "num_hidden_layers": 3,
    "head_dim": 16,
    "query_pre_attn_scalar": 16,
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
}
IMAGE_KINDS, MULTIMODAL_KINDS = {"token_type_ids": of_images}, {"mm_token_type_ids": of_images}
# 6 x 10 patches, of which 2 x 2 make one token; positions of time, height and width.
QWEN = {"depth": 2, "num_heads": 2, "out_hidden_size": WIDTH, "num_position_embeddings": 64}
GRID: Settings = {"image_grid_thw": torch.tensor([[1, 6, 10]])}
GRID14 = GRID | {"pixel_values": (60, 3 * 2 * 14 * 14)}
GRID16 = GRID | {"pixel_values": (60, 3 * 2 * 16 * 16)}
ROPE = {"rope_type": "default", "rope_theta": 10000.0}
ROPE2 = {"rope_parameters": ROPE | {"mrope_section": [2, 3, 3]}}
ROPE3 = {"rope_parameters": ROPE | {"mrope_section": [4, 2, 2], "mrope_interleaved": True}}
# Most layers carry a recurrent state, which reads tokens in their order.
RECURRENT: Settings = {
    "head_dim": 16,
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
}
# The image enters through layers of cross-attention, one token marks its place.
CROSS: Settings = {
    "num_global_layers": 1,
    "attention_heads": 2,
    "image_size": 28,
    "max_num_tiles": 4,
    "vision_output_dim": 32 * 3,
    "intermediate_layers_indices": [0, 1],
    "supported_aspect_ratios": [[1, 1], [1, 2], [2, 1], [2, 2]],
}
CROSSED = {
    "pixel_values": (1, 1, 4, 3, 28, 28),
    "aspect_ratio_ids": torch.tensor([[2]]),
    "aspect_ratio_mask": torch.tensor([[[1, 1, 0, 0]]]),
}
# 4 x 4 patches are pooled into tokens as the processor says, 2 x 2 into one.
HEADS: Settings = {"num_key_value_heads": 2, "head_dim": 16}
POOLED = {
    "pixel_values": (1, 16, 14 * 14 * 3),
    "image_token_pooling": torch.arange(16).reshape(2, 2, 2, 2).permute(0, 2, 1, 3).reshape(4, 4),
    "image_grids": torch.tensor([[2, 2, 0, 0]]),
    "image_num_crops": torch.tensor([1]),
}
ADAPTER = TOWER | HEADS | {"vision_feature_layer": [-1, -2], "text_hidden_size": WIDTH}
# Pixtral's tower takes images of every size.
PIXTRAL: Settings = {"model_type": "pixtral"}
MISTRAL: Settings = {"model_type": "mistral", "sliding_window": None}
SIZED = PIXELS | {"image_sizes": torch.tensor([[56, 56]])}
# Few of four experts read a token.
EXPERTS: Settings = {"moe_intermediate_size": WIDTH, "num_experts_per_tok": 2}
GEMMA4: Settings = GEMMA3 | {
    "global_head_dim": 16,
    "vocab_size_per_layer_input": ROWS,
    "hidden_size_per_layer_input": 8,
}
PLACED = {
    "pixel_values": (1, 16, 14 * 14 * 3),
    "image_position_ids": torch.cartesian_prod(torch.arange(4), torch.arange(4)).flip(1)[None],
}
GLM = QWEN | {"hidden_size": WIDTH}
COHERE2: Settings = {
    "model_type": "cohere2",
    "head_dim": 16,
    "sliding_window": 256,
    "layer_types": ["sliding_attention", "full_attention"],
}
LATENT: Settings = {
    "model_type": "deepseek_v3",
    "num_key_value_heads": 4,
    "kv_lora_rank": 16,
    "q_lora_rank": None,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 16,
    "n_routed_experts": 4,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
}
RESAMPLER: Settings = {
    "hidden_size": WIDTH,
    "resampler_n_latents": QUERIES,
    "resampler_depth": 1,
    "resampler_n_heads": 4,
    "resampler_head_dim": 16,
    "num_key_value_heads": 2,
}

FAMILIES = {
    "aya_vision": Kind(
        "aya_vision", 12, SIGLIP, COHERE2, {"pixel_values": (3, 3, 56, 56)}, entries="aya_vision_*", chat="aya"
    ),
    "blip_2": Kind(
        "blip-2", QUERIES, {}, {"model_type": "opt", "ffn_dim": 128, "word_embed_proj_dim": 64}, PIXELS, more=QUERY,
        chat="question_answer", joined=None,
    ),
    "cohere2_vision": Kind(
        "cohere2_vision", 12, SIGLIP, COHERE2, {"pixel_values": (3, 3, 56, 56)},
        more={"alignment_intermediate_size": 64}, chat="aya",
    ),
    "deepseek_vl": Kind("deepseek_vl", 16, SIGLIP, LLAMA | {"num_key_value_heads": 4}, PIXELS, chat="deepseek"),
    "gemma3": Kind(
        "gemma3", 16, SIGLIP, GEMMA3 | {"sliding_window": 256}, {"pixel_values": (4, 3, 56, 56)},
        beside=IMAGE_KINDS, more={"mm_tokens_per_image": 4}, entries="gemma_3_*", chat="gemma3",
    ),
    "gemma3_narrow": Kind(  # a window shorter than the beginning with its image
        "gemma3", 16, SIGLIP, GEMMA3 | {"sliding_window": 12}, {"pixel_values": (4, 3, 56, 56)},
        beside=IMAGE_KINDS, more={"mm_tokens_per_image": 4},
    ),
    "gemma4": Kind(
        "gemma4", 4, HEADS | {"pooling_kernel_size": 2, "position_embedding_size": 16},
        GEMMA4 | {"sliding_window": 256}, PLACED, beside=MULTIMODAL_KINDS, entries="gemma_4_*", chat="gemma4",
    ),
    "glm4v": Kind(
        "glm4v", 15, GLM, ROPE2, GRID14, beside=MULTIMODAL_KINDS, entries="glm_4_*", chat="glm4v"
    ),
    "glm4v_moe": Kind(
        "glm4v_moe", 15, GLM,
        {"rope_parameters": ROPE | {"mrope_section": [2, 1, 1]}, "n_routed_experts": 4, "head_dim": 16} | EXPERTS, GRID14,
        beside=MULTIMODAL_KINDS, chat="glm4v",
    ),
    "idefics2": Kind(
        "idefics2", QUERIES, {}, MISTRAL, {"pixel_values": (1, 1, 3, 56, 56)}, more={"perceiver_config": RESAMPLER},
        entries="mantis_8b_idefics2", chat="idefics2", joined=1,
    ),
    "idefics3": Kind(
        "idefics3", 12, {}, LLAMA, {"pixel_values": (1, 3, 3, 56, 56)}, more={"scale_factor": 2}, chat="smolvlm",
        joined=1,
    ),
    "instructblip": Kind(
        "instructblip", QUERIES, {}, LLAMA, PIXELS | QFORMER, more=QUERY, entries="instructblip_vicuna_*",
        chat="question_answer", joined=None,
    ),
    "internvl": Kind(
        "internvl", 12, {"image_size": [56, 56], "patch_size": [14, 14]}, QWEN2, {"pixel_values": (3, 3, 56, 56)},
        entries="internvl3_*", chat="internvl",
    ),
    "kimi_k25": Kind(
        "kimi_k25", 15, {"pos_emb_height": 8, "pos_emb_width": 8}, EXPERTS | LATENT,
        GRID | {"pixel_values": (60, 3, 14, 14)}, more={"projection_hidden_size": 32}, chat="kimi",
    ),
    "lfm2_vl": Kind(  # convolutions read tokens in their order
        "lfm2_vl", 4, {"model_type": "siglip2_vision_model", "num_patches": 16, "vision_use_head": False},
        {"model_type": "lfm2", "layer_types": ["conv", "full_attention"], "block_ff_dim": 128},
        {"pixel_values": (1, 16, 14 * 14 * 3), "spatial_shapes": torch.tensor([[4, 4]]),
         "pixel_attention_mask": torch.ones((1, 16)).long()},
        "batch", more={"projector_hidden_size": 64}, chat="lfm2",
    ),
    "llama4": Kind(  # most layers see chunks of tokens only
        "llama4", 12,
        {"intermediate_size": 128, "vision_output_dim": 32, "projector_input_dim": 32, "projector_output_dim": 32},
        {"num_hidden_layers": 4, "intermediate_size_mlp": 128, "head_dim": 16, "num_local_experts": 4},
        {"pixel_values": (3, 3, 56, 56)}, "batch", entries="llama_4_*", chat="llama4",
    ),
    "llava": Kind(
        "llava", 16, CLIP, LLAMA | {"num_key_value_heads": 4}, PIXELS, more={"vision_feature_layer": -2},
        entries="llava_v1_5_* llava_interleave_* mantis_8b_*_llama3", chat="vicuna_v1",
    ),
    "llava_pixtral": Kind(
        "llava", 16, PIXTRAL, MISTRAL | {"head_dim": 16}, SIZED,
        more={"vision_feature_layer": -1, "vision_feature_select_strategy": "full"}, entries="pixtral_*", chat="pixtral",
    ),
    "llava_next": Kind(
        "llava_next", 88, CLIP, MISTRAL, TILED, more=TILES | {"vision_feature_layer": -2},
        entries="llava_v1_6_* llava_next_*", chat="mistral_instruct",
    ),
    "llava_onevision": Kind(
        "llava_onevision", 88, SIGLIP, QWEN2, TILED, more=TILES | {"vision_feature_layer": -1},
        entries="llava_onevision_*", chat="onevision",
    ),
    "minicpmv4_6": Kind(  # patches of all images lie in one row
        "minicpmv4_6", 4, {}, RECURRENT | {"model_type": "qwen3_5_text"},
        {"pixel_values": (1, 3, 14, 14 * 64), "target_sizes": torch.tensor([[8, 8]])}, "batch",
        more={"insert_layer_id": 0, "image_size": 112}, chat="qwen3_5",
    ),
    "mistral3": Kind(
        "mistral3", 4, PIXTRAL, MISTRAL | {"head_dim": 16}, SIZED, entries="mistral_small_3_*", chat="mistral3"
    ),
    "mllama": Kind(
        "mllama", 1, CROSS,
        {"num_hidden_layers": 3, "cross_attention_layers": [1], "rope_parameters": ROPE}, CROSSED,
        beside={"cross_attention_mask": two_tiles}, chat="mllama", joined=1,
    ),
    "molmo2": Kind(
        "molmo2", 4, HEADS | {"image_size": [56, 56], "num_position_embeddings": 16},
        HEADS | {"vocab_size": ROWS - 20, "additional_vocab_size": 20}, POOLED,
        beside=MULTIMODAL_KINDS, more={"adapter_config": ADAPTER}, entries="molmo2_*", chat="molmo2",
    ),
    "ovis2": Kind(
        "ovis2", 4, {"vocab_size": 40, "hidden_stride": 2}, QWEN2, PIXELS,
        more={"vocab_size": ROWS, "hidden_size": WIDTH, "visual_indicator_token_ids": [301, 302, 303, 304, 305]},
        entries="ovis2_*", chat="ovis2", closing=(305,),
    ),
    "paligemma": Kind(  # the tokens of an image see the question as well, so nothing can be shared
        "paligemma", 16, SIGLIP, {"model_type": "gemma", "head_dim": 16}, PIXELS, "plain",
        beside={"token_type_ids": of_answer}, more={"projection_dim": WIDTH, "hidden_size": WIDTH},
        entries="paligemma_*", chat="paligemma",
    ),
    "paligemma2": Kind(
        "paligemma", 16, SIGLIP,
        {"model_type": "gemma2", "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 256}, PIXELS, "plain",
        beside={"token_type_ids": of_answer}, more={"projection_dim": WIDTH, "hidden_size": WIDTH},
        entries="paligemma2_*", chat="paligemma",
    ),
    "qwen2_5_vl": Kind(
        "qwen2_5_vl", 15, QWEN | {"fullatt_block_indexes": [1], "window_size": 56}, ROPE2, GRID14,
        beside=MULTIMODAL_KINDS, entries="qwen2_5_vl_*",
    ),
    "qwen2_vl": Kind(
        "qwen2_vl", 15, QWEN | {"embed_dim": 32, "hidden_size": WIDTH}, ROPE2, GRID14, beside=MULTIMODAL_KINDS
    ),
    "qwen3_5": Kind(
        "qwen3_5", 15, QWEN | {"patch_size": 16}, RECURRENT, GRID16, "batch", MULTIMODAL_KINDS, chat="qwen3_5"
    ),
    "qwen3_vl": Kind(
        "qwen3_vl", 15, QWEN | {"patch_size": 16, "deepstack_visual_indexes": [0, 1]},
        ROPE3 | {"head_dim": 16}, GRID16, beside=MULTIMODAL_KINDS, entries="qwen3_vl_*",
    ),
    "qwen3_vl_moe": Kind(
        "qwen3_vl_moe", 15, QWEN | {"patch_size": 16, "deepstack_visual_indexes": [0, 1]},
        ROPE3 | {"head_dim": 16, "num_experts": 4} | EXPERTS, GRID16, beside=MULTIMODAL_KINDS,
    ),
    "smolvlm": Kind(
        "smolvlm", 12, {}, LLAMA, {"pixel_values": (1, 3, 3, 56, 56)}, more={"scale_factor": 2},
        entries="smolvlm2_*", chat="smolvlm", joined=1,
    ),
}  # fmt: skip
