"""What a model folder must be before its weights are trusted: whole, safetensors, without code of its own."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vouch.pipeline.errors import UserError
from vouch.tables.pins import INDEX, WEIGHT_SUFFIX, check_covered, indexed_files, read_json

PICKLED = (".bin", ".pt", ".pth", ".ckpt")
SINGLE = "model.safetensors"
ADAPTER = "adapter_config.json"
# transformers opens what these name, pickles too
SPEAKING = ("audio_tokenizer", "audio_tokenizer_name_or_path")
ATTENTION = ("attn_implementation", "_attn_implementation", "_attn_implementation_internal")
_EXTRA = "__metadata__"  # the entry of a header that is no tensor
_LENGTH = 8  # bytes before a safetensors header that give its size
_HEADER_LIMIT = 100_000_000  # the format's own limit


def check_model_folder(folder: Path) -> None:
    """Raises UserError where a folder cannot be pinned, with what is wrong and what to do."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such model folder; correct it under models in params.yaml")
    weights = [path for path in folder.iterdir() if path.suffix == WEIGHT_SUFFIX]
    if not weights:
        pickled = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLED)
        what = f"only pickled weights ({pickled[0]}), which can run code" if pickled else "no weights"
        raise UserError(f"{folder}: {what}; save the model as {WEIGHT_SUFFIX} files")
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder}: no config.json; the folder is not a whole model, fetch it anew")
    for path in sorted(folder.glob("*config.json")):
        check_no_code(path)
    check_covered(folder)


def check_no_code(path: Path) -> None:
    """Raises UserError where a configuration asks for code, or leads out of the model's folder."""
    values = read_json(path)
    if "auto_map" in values:
        raise UserError(
            f"{path}: asks for code of its own (auto_map), which is never run; "
            "take a version of the model that transformers loads by itself"
        )
    if path.name == ADAPTER:
        raise UserError(
            f"{path}: an adapter, whose base model no digest would cover; merge it into the weights and save "
            "the model anew, or remove this file"
        )
    for key, value in _entries(values):
        if key in SPEAKING and value:
            raise UserError(
                f"{path}: leads to a further model ({key}), which no digest would cover; remove it"
            )
        if key in ATTENTION and "/" in str(value):
            raise UserError(
                f"{path}: asks for code of the hub ({key}: {value}), which is never run; remove it"
            )


def _entries(values: object) -> Iterator[tuple[str, object]]:
    """Keys and values of a configuration, of those within it as well, however deep."""
    left = [values]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield from value.items()
            left += value.values()
        elif isinstance(value, list):
            left += value


def weight_files(folder: Path) -> list[Path]:
    """The weight files that transformers loads: those of the index, or the only one. Raises UserError."""
    index = folder / INDEX
    if not index.is_file():
        single = folder / SINGLE
        return [single] if single.is_file() else sorted(folder.glob(f"*{WEIGHT_SUFFIX}"))
    files = [folder / name for name in indexed_files(index)]
    missing = [path.name for path in files if not path.is_file()]
    if missing:
        raise UserError(f"{folder}: {missing[0]}, which {INDEX} names, is missing; fetch the model anew")
    return files


def count_parameters(folder: Path) -> int:
    """Numbers stored in the weight files, from their headers. Raises UserError where a file is cut short."""
    return sum(
        math.prod(tensor["shape"]) for path in weight_files(folder) for tensor in _tensors(path).values()
    )


def check_digests(expected: Mapping[str, str], found: Mapping[str, str], folder: Path) -> None:
    """Raises UserError where a file has not the digest that models.lock gives for it."""
    for name, digest in expected.items():
        if name not in found:
            raise UserError(
                f"{folder}: has no {name}, for which models.lock gives a digest; correct one of them"
            )
        if found[name] != digest:
            raise UserError(
                f"{folder / name}: SHA-256 is {found[name]}, models.lock says {digest}; "
                "fetch the file anew, or correct models.lock if the change is wanted"
            )


def _tensors(path: Path) -> dict[str, Any]:
    """What the header of a safetensors file says about each tensor, checked against the file's size."""
    damaged = UserError(f"{path}: damaged or cut short; fetch the model anew")
    with path.open("rb") as handle:
        length = int.from_bytes(handle.read(_LENGTH), "little")
        if length > _HEADER_LIMIT:
            raise damaged
        try:
            tensors = {
                name: entry for name, entry in json.loads(handle.read(length)).items() if name != _EXTRA
            }
            end = max((entry["data_offsets"][1] for entry in tensors.values()), default=0)
            sizes = [size for entry in tensors.values() for size in entry["shape"]]
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            raise damaged from None
    whole = path.stat().st_size == _LENGTH + length + end
    if not whole or not all(type(size) is int and size >= 0 for size in sizes):
        raise damaged
    return tensors
