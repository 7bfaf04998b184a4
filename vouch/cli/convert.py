"""`vouch convert`: pickled weights become safetensors, once, without running what they hold."""

import argparse
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vouch.cli.command import command, path_argument
from vouch.models.program.identity import PICKLED
from vouch.pipeline.errors import UserError, reason
from vouch.pipeline.files import check_plain, replacing_folder
from vouch.tables.answered import WEIGHT_SUFFIX, read_json

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
    if target.exists():
        raise UserError(f"{target}: exists already; give the name of a new folder")
    if source.resolve() in target.resolve().parents:
        raise UserError(f"{target}: lies in the folder that is converted; give another place")
    paths = [path for path in sorted(source.rglob("*")) if path.is_file()]
    pickled = [path for path in paths if path.name.endswith(PICKLED)]
    if not pickled:
        raise UserError(f"{source}: holds no pickled weights; use it as it is")
    with replacing_folder(target) as folder:
        for path in paths:
            check_plain(path)
            new = folder / path.relative_to(source)
            new.parent.mkdir(parents=True, exist_ok=True)
            if path in pickled:
                _convert(path, new.with_name(_renamed(path.name)))
            elif match := _INDEX.fullmatch(path.name):
                _reindex(path, new.with_name(f"{_model(match[1])}{WEIGHT_SUFFIX}.index.json"))
            else:
                shutil.copyfile(path, new)
    print(f"convert: {len(pickled)} files of weights, in {options.target}")
    return 0


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
        first = reason(error).partition(". ")[0]
        raise UserError(
            f"{path}: is not only tensors ({first}); it is not opened otherwise, so ask its authors for "
            "safetensors"
        ) from None
    tensors, left_out = dict[str, Any](), list[str]()
    seen: set[int] = set()
    for key, value in _flat(values, ""):
        if not isinstance(value, torch.Tensor):
            left_out.append(key)
            continue
        shared = value.untyped_storage().data_ptr() in seen
        seen.add(value.untyped_storage().data_ptr())
        tensors[key] = value.detach().clone() if shared else value.detach().contiguous()
    if not tensors:
        raise UserError(f"{path}: holds no tensors; move the file away, or give another folder")
    save_file(tensors, new, {"format": "pt"})
    if left_out:
        more = f" and {len(left_out) - 5} more" if len(left_out) > 5 else ""
        print(f"convert: {path.name}: left out, as they are no tensors: {', '.join(left_out[:5])}{more}")


def _flat(values: Any, before: str) -> Iterator[tuple[str, Any]]:
    """Nested mappings as one, keys joined by dots."""
    if not isinstance(values, Mapping):
        yield before.rstrip(".") or "value", values
        return
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value
