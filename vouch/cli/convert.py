"""`vouch convert`: pickled weights become safetensors, once, without running what they hold."""

import argparse
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from vouch.cli.command import command, path_argument
from vouch.models.program.identity import PICKLED
from vouch.pipeline.errors import UserError, reason
from vouch.pipeline.files import check_plain, replacing_folder
from vouch.tables.answered import WEIGHT_SUFFIX, read_json

DEEPEST = 50  # mappings in mappings
MOST_REPEATED = 8  # bytes of tensors by bytes of their file: tied weights are written once each
_GLOBAL = re.compile(r"GLOBAL ([\w.]+)")
_INDEX = re.compile(r"(.*)\.(bin|pt|pth)\.index\.json")


@command(
    "convert",
    "make safetensors of pickled weights",
    path_argument("folder", help="a model folder with pickled weights (.bin, .pt, .pth, .ckpt)"),
    path_argument("target", help="the new folder"),
)
def run(options: argparse.Namespace) -> int:
    """Make safetensors of a folder's pickled weights. All other files are copied.

    A pickle can run code when it is opened. torch opens it with weights_only=True here, which builds tensors
    and plain containers and nothing else. A file that needs more is refused. Values that are not tensors are
    left out, and said.

    Examples:
      vouch convert ../weights/old ../weights/new
    """
    source, target = Path(options.folder), Path(options.target)
    if not source.is_dir():
        raise UserError(f"{source}: no such folder; give the folder of a model")
    if os.path.lexists(target):
        raise UserError(f"{target}: exists already; give the name of a new folder")
    if source.resolve() in target.resolve().parents:
        raise UserError(f"{target}: lies in the folder that is converted; give another place")
    paths = [path for path in sorted(source.rglob("*")) if path.is_file()]
    pickled = [path for path in paths if path.name.endswith(PICKLED)]
    if not pickled:
        raise UserError(f"{source}: holds no pickled weights; use it as it is")
    names = _new_names(paths)
    with replacing_folder(target) as folder:
        for path, name in names.items():
            check_plain(path)
            new = folder / path.relative_to(source).with_name(name)
            new.parent.mkdir(parents=True, exist_ok=True)
            if path in pickled:
                _convert(path, new)
            elif _INDEX.fullmatch(path.name):
                _reindex(path, new)
            else:
                shutil.copyfile(path, new)
    print(f"convert: {len(pickled)} files of weights, in {options.target}")
    return 0


def _new_names(paths: Iterable[Path]) -> dict[Path, str]:
    """The name of each file in its new folder. Raises UserError if two files would have one name."""
    names, taken = dict[Path, str](), dict[Path, Path]()
    for path in paths:
        index = _INDEX.fullmatch(path.name)
        names[path] = path.name
        if index:
            names[path] = f"{_model(index[1])}{WEIGHT_SUFFIX}.index.json"
        elif path.name.endswith(PICKLED):
            names[path] = _renamed(path.name)
        first = taken.setdefault(path.with_name(names[path]), path)
        if first != path:
            raise UserError(
                f"{path}: would become {names[path]}, as {first.name} does; move one of the two away"
            )
    return names


def _model(stem: str) -> str:
    """transformers calls its pickled weights pytorch_model, and the others model."""
    return stem.replace("pytorch_model", "model", 1) if stem.startswith("pytorch_model") else stem


def _renamed(name: str) -> str:
    return _model(name.rpartition(".")[0]) + WEIGHT_SUFFIX


def _reindex(path: Path, new: Path) -> None:
    """Names the new files in an index."""
    values = read_json(path)
    names = values.get("weight_map")
    if not isinstance(names, dict):
        raise UserError(f"{path}: has no weight_map from tensors to file names; fetch the model anew")
    values["weight_map"] = {key: _renamed(str(name)) for key, name in names.items()}
    new.write_text(json.dumps(values, indent=2) + "\n", "utf-8")


def _convert(path: Path, new: Path) -> None:
    import torch
    from safetensors.torch import save_file

    try:
        values = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a file can make torch raise whatever it likes
        named = _GLOBAL.search(str(error))
        why = f"it names {named[1]}" if named else reason(error).partition(". ")[0]
        raise UserError(
            f"{path}: is not only tensors ({why}); it is not opened otherwise, so ask its authors for "
            "safetensors"
        ) from None
    tensors, left_out = _tensors(values, path)
    try:
        save_file(tensors, new, {"format": "pt"})
    except (KeyError, ValueError, RuntimeError, TypeError) as error:  # such as a dtype that safetensors lacks
        raise UserError(
            f"{path}: cannot be written as safetensors ({reason(error)}); ask its authors for safetensors"
        ) from None
    if left_out:
        more = f" and {len(left_out) - 5} more" if len(left_out) > 5 else ""
        print(f"convert: {path.name}: left out, as they are no tensors: {', '.join(left_out[:5])}{more}")


def _tensors(values: Any, path: Path) -> tuple[dict[str, Any], list[str]]:
    """The tensors of a file by their keys, none in the memory of another, and the keys of all else.

    Raises UserError for a key that stands twice, and for tensors that are much larger than the file.
    """
    import torch

    tensors, left_out, storages = dict[str, Any](), list[str](), set[int]()
    left = MOST_REPEATED * path.stat().st_size
    for key, value in _flat(values, path):
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
            left_out.append(key)
            continue
        left -= value.numel() * value.element_size()
        if left < 0:
            raise UserError(
                f"{path}: {key}: larger than its file, as a zip bomb is; ask its authors for safetensors"
            )
        if key in tensors:
            raise UserError(f"{path}: has two tensors {key}; save one of them under another name")
        storage = value.untyped_storage().data_ptr()
        tensors[key] = value.detach().clone() if storage in storages else value.detach().contiguous()
        storages.add(storage)
    if not tensors:
        raise UserError(f"{path}: holds no tensors; move the file away, or give another folder")
    return tensors, left_out


def _flat(values: Any, path: Path) -> Iterator[tuple[str, Any]]:
    """Nested mappings as one, keys joined by dots. Raises UserError for deeper ones than any model has."""
    if not isinstance(values, Mapping):
        yield "value", values
        return
    todo = [(str(key), value, 1) for key, value in [*values.items()][::-1]]
    while todo:
        key, value, depth = todo.pop()
        if not isinstance(value, Mapping):
            yield key, value
        elif depth == DEEPEST:
            raise UserError(f"{path}: mappings in mappings, {DEEPEST} deep; give the file of a model")
        else:
            todo += [(f"{key}.{inner}", one, depth + 1) for inner, one in [*value.items()][::-1]]
