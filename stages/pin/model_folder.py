"""What a model folder must be before its weights are trusted: whole, safetensors, without code of its own."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stages.contracts.pins import WEIGHT_SUFFIX
from stages.runtime.errors import UserError

PICKLED = (".bin", ".pt", ".pth", ".ckpt")
INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
_EXTRA = "__metadata__"  # the entry of a header that is no tensor
_LENGTH = 8  # bytes before a safetensors header that give its size
_HEADER_LIMIT = 100_000_000  # the format's own limit


def check_model_folder(folder: Path) -> None:
    """Raises UserError where a folder cannot be pinned, with what is wrong and what to do."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such model folder; correct source.path in models.lock")
    weights = [path for path in folder.iterdir() if path.suffix == WEIGHT_SUFFIX]
    if not weights:
        pickled = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLED)
        what = f"only pickled weights ({pickled[0]}), which can run code" if pickled else "no weights"
        raise UserError(f"{folder}: {what}; save the model as {WEIGHT_SUFFIX} files")
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder}: no config.json; the folder is not a whole model, fetch it anew")
    for path in sorted(folder.glob("*config.json")):
        check_no_code(path)


def check_no_code(path: Path) -> None:
    """Raises UserError where a configuration asks for code that comes with the model."""
    if "auto_map" in read_json(path):
        raise UserError(
            f"{path}: asks for code of its own (auto_map), which is never run; "
            "take a version of the model that transformers loads by itself"
        )


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


def indexed_files(index: Path) -> list[str]:
    """Names of the weight files that an index lists, sorted. Raises UserError."""
    names = read_json(index).get("weight_map")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise UserError(f"{index}: has no weight_map from tensors to file names; fetch the model anew")
    for name in names.values():
        if name in ("", "..") or Path(name).name != name or "\\" in name:
            # Only files of the folder itself have digests in a pin.
            raise UserError(
                f"{index}: names {name[:80]!a}, which is no file of its folder; "
                "put all weights into the folder"
            )
    return sorted(set(names.values()))


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


def read_json(path: Path) -> dict[str, Any]:
    """The mapping in a JSON file, empty where it holds something else. Raises UserError."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not readable as JSON ({error}); fetch the model anew") from None
    return value if isinstance(value, dict) else {}


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
