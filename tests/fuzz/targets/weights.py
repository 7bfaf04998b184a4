"""Model folders: headers of safetensors files, indexes and configurations, before anything is loaded."""

import json
from pathlib import Path

from vouch.models.kinds import reads_images
from vouch.models.model_folder import check_model_folder, count_parameters
from vouch.tables.answered import INDEX, folder_digests

HEADER = {"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}
CONFIG = {"model_type": "llava", "architectures": ["X"], "text_config": {"dtype": "float32"}}
reads_images({})  # imports transformers, which takes longer than an input may
_BETWEEN = b"\n--\n"
_KEYS = b'"auto_map": | "transformers_weights": | "shape": | "data_offsets": | "weight_map": | ../x.safetensors | [[[['
WORDS = [*_KEYS.split(b" | "), b"\xff" * 8, _BETWEEN]


def CORPUS() -> list[bytes]:
    text = json.dumps(HEADER).encode()
    weights = len(text).to_bytes(8, "little") + text + bytes(16)
    index = json.dumps({"weight_map": {"a": "model.safetensors"}}).encode()
    return [
        _BETWEEN.join(parts)
        for parts in (
            [json.dumps(CONFIG).encode(), b"", weights],
            [json.dumps(CONFIG).encode(), index, weights],
        )
    ]


def read(data: bytes, folder: Path) -> None:
    parts = [*data.split(_BETWEEN, 2), b"", b""]
    for name, part in zip(("config.json", INDEX, "model.safetensors"), parts, strict=False):
        (folder / name).unlink(missing_ok=True)
        if part or name != INDEX:
            (folder / name).write_bytes(part)
    for name in ("tokenizer.json", "preprocessor_config.json"):  # a folder without them is refused before
        (folder / name).write_text("{}", "utf-8")
    check_model_folder(folder)
    count_parameters(folder)
    folder_digests(folder)
