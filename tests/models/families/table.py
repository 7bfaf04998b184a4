"""Every family of models that the engine for decoders must serve, as a tiny configuration of its own.

A family is a row of FAMILIES: what differs from TEXT and TOWER, and what its processor makes of a picture.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from vouch.models.decoder.jobs import Mode

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


def of_pictures(ids: torch.Tensor, prompt: int) -> torch.Tensor:
    """1 where a token stands for a picture."""
    return (ids == IMAGE).long()


def of_answer(ids: torch.Tensor, prompt: int) -> torch.Tensor:
    """1 beyond the prompt: it sees all of itself, an answer what came before."""
    return (torch.arange(ids.shape[1]) >= prompt)[None].long()


def two_tiles(ids: torch.Tensor, prompt: int) -> torch.Tensor:
    """From the picture's place on, its two real tiles of four."""
    return (ids == IMAGE).cumsum(dim=1)[:, :, None, None] * torch.tensor([1, 1, 0, 0])


@dataclass(frozen=True)
class Kind:
    """A family. places: tokens that a picture takes. vision, text: beside TOWER and TEXT; more: of the whole.

    shown: tensors of a picture, or shapes of noise. mode: the fastest sound one. beside: makes tensors beside
    tokens [1, n], of which the first so many are the prompt's.
    """

    model_type: str
    places: int
    vision: Settings
    text: Settings
    shown: Mapping[str, tuple[int, ...] | torch.Tensor]
    mode: Mode = "trie"
    beside: Mapping[str, Callable[[torch.Tensor, int], torch.Tensor]] = field(default_factory=dict)
    more: Settings = field(default_factory=dict)


CLIP: Settings = {"model_type": "clip_vision_model", "projection_dim": 32}
SIGLIP: Settings = {"model_type": "siglip_vision_model", "vision_use_head": False}
LLAMA: Settings = {"model_type": "llama"}
QWEN2: Settings = {"model_type": "qwen2"}
PICTURE = {"pixel_values": (1, 3, 56, 56)}
# A whole view and four tiles; the picture's size decides how many of their places are kept.
TILED = {"pixel_values": (1, 5, 3, 56, 56), "image_sizes": torch.tensor([[100, 112]])}
TILES = {"image_grid_pinpoints": [[56, 112], [112, 56], [112, 112]]}
# A few queries read the picture.
QUERIES = 6
QUERY: Settings = {
    "num_query_tokens": QUERIES,
    "qformer_config": TOWER | {"vocab_size": 100, "encoder_hidden_size": 32},
}
QFORMER = {"qformer_input_ids": torch.arange(7)[None], "qformer_attention_mask": torch.ones((1, 7)).long()}
# Most layers see a window only; the tokens of a picture see each other.
GEMMA3: Settings = {
    "num_hidden_layers": 3,
    "head_dim": 16,
    "query_pre_attn_scalar": 16,
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
}
PICTURE_KINDS, MULTIMODAL_KINDS = {"token_type_ids": of_pictures}, {"mm_token_type_ids": of_pictures}
# 6 x 10 patches, of which 2 x 2 make one token; positions of time, height and width.
QWEN = {"depth": 2, "num_heads": 2, "out_hidden_size": WIDTH, "num_position_embeddings": 64}
GRID = {"image_grid_thw": torch.tensor([[1, 6, 10]])}
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
# The picture enters through layers of cross-attention, one token marks its place.
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

FAMILIES = {
    "blip_2": Kind(
        "blip-2", QUERIES, {}, {"model_type": "opt", "ffn_dim": 128, "word_embed_proj_dim": 64}, PICTURE, more=QUERY
    ),
    "gemma3": Kind(
        "gemma3", 16, SIGLIP, GEMMA3 | {"sliding_window": 256}, {"pixel_values": (4, 3, 56, 56)},
        beside=PICTURE_KINDS, more={"mm_tokens_per_image": 4},
    ),
    "gemma3_narrow": Kind(  # a window shorter than the beginning with its picture
        "gemma3", 16, SIGLIP, GEMMA3 | {"sliding_window": 12}, {"pixel_values": (4, 3, 56, 56)},
        beside=PICTURE_KINDS, more={"mm_tokens_per_image": 4},
    ),
    "idefics3": Kind("idefics3", 12, {}, LLAMA, {"pixel_values": (1, 3, 3, 56, 56)}, more={"scale_factor": 2}),
    "instructblip": Kind("instructblip", QUERIES, {}, LLAMA, PICTURE | QFORMER, more=QUERY),
    "internvl": Kind(
        "internvl", 12, {"image_size": [56, 56], "patch_size": [14, 14]}, QWEN2, {"pixel_values": (3, 3, 56, 56)}
    ),
    "llava": Kind(
        "llava", 16, CLIP, LLAMA | {"num_key_value_heads": 4}, PICTURE, more={"vision_feature_layer": -2}
    ),
    "llava_next": Kind(
        "llava_next", 88, CLIP, {"model_type": "mistral", "sliding_window": None}, TILED,
        more=TILES | {"vision_feature_layer": -2},
    ),
    "llava_onevision": Kind(
        "llava_onevision", 88, SIGLIP, QWEN2, TILED, more=TILES | {"vision_feature_layer": -1}
    ),
    "mllama": Kind(
        "mllama", 1, CROSS,
        {"num_hidden_layers": 3, "cross_attention_layers": [1], "rope_parameters": ROPE}, CROSSED,
        beside={"cross_attention_mask": two_tiles},
    ),
    "molmo2": Kind(
        "molmo2", 4, HEADS | {"image_size": [56, 56], "num_position_embeddings": 16},
        HEADS | {"vocab_size": ROWS - 20, "additional_vocab_size": 20}, POOLED,
        beside=MULTIMODAL_KINDS, more={"adapter_config": ADAPTER},
    ),
    "paligemma": Kind(  # the tokens of a picture see the question as well, so nothing can be shared
        "paligemma", 16, SIGLIP, {"model_type": "gemma", "head_dim": 16}, PICTURE, "plain",
        beside={"token_type_ids": of_answer}, more={"projection_dim": WIDTH, "hidden_size": WIDTH},
    ),
    "qwen2_5_vl": Kind(
        "qwen2_5_vl", 15, QWEN | {"fullatt_block_indexes": [1], "window_size": 56}, ROPE2, GRID14,
        beside=MULTIMODAL_KINDS,
    ),
    "qwen2_vl": Kind(
        "qwen2_vl", 15, QWEN | {"embed_dim": 32, "hidden_size": WIDTH}, ROPE2, GRID14, beside=MULTIMODAL_KINDS
    ),
    "qwen3_5": Kind("qwen3_5", 15, QWEN | {"patch_size": 16}, RECURRENT, GRID16, "batch", MULTIMODAL_KINDS),
    "qwen3_vl": Kind(
        "qwen3_vl", 15, QWEN | {"patch_size": 16, "deepstack_visual_indexes": [0, 1]},
        ROPE3 | {"head_dim": 16}, GRID16, beside=MULTIMODAL_KINDS,
    ),
    "smolvlm": Kind("smolvlm", 12, {}, LLAMA, {"pixel_values": (1, 3, 3, 56, 56)}, more={"scale_factor": 2}),
}  # fmt: skip
