"""Model folders: what makes one whole and safe to load, and what its files say of the model.

A folder is trusted only if it is whole, has safetensors weights, needs no code of its own and claims no sizes
that its weights do not have. Nothing here loads weights: a safetensors header tells the shapes.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from vouch.models.kinds import has_class, reads_images
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import check_plain
from vouch.tables.answered import (
    INDEX,
    WEIGHT_SUFFIX,
    Dtype,
    check_covered,
    indexed_files,
    read_json,
)

_DTYPES: tuple[Dtype, ...] = get_args(Dtype)
PICKLED = (".bin", ".pt", ".pth", ".ckpt")
SINGLE = "model.safetensors"
ADAPTER = "adapter_config.json"
IMAGE_PROCESSOR, PROCESSOR = "preprocessor_config.json", "processor_config.json"
VOCABULARY = re.compile(r"tokenizer\.json|vocab\.(json|txt)|tekken\.json|dict\.txt|.*\.(model|tiktoken)")
WITHOUT_VOCABULARY = ("perceiver", "canine", "t5")  # all of them, or some, read bytes
# transformers opens the files that these keys name, even pickles
SPEAKING = ("audio_tokenizer", "audio_tokenizer_name_or_path")
# what a configuration may claim of any model, however few its weights are
LAYERS, SIZE, ENTRIES = 64, 1 << 16, 1 << 14
_LAYERS = re.compile(r"(\w+_)?num_(\w+_)?layers|n_layers?|(en|de)coder_layers|layers|depths?")
_SIZE = re.compile(r"num_\w+|n_(embd|head|inner)|\w+_(size|dim|heads|channels)|d_\w+")
ATTENTION = ("attn_implementation", "_attn_implementation", "_attn_implementation_internal")


def is_model(path: Path) -> bool:
    """Whether a source is meant as a model, whole or not; else it holds answers, or is one file of them."""
    names = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    return not path.exists() or any(
        n == "config.json" or n.endswith((WEIGHT_SUFFIX, *PICKLED)) for n in names
    )


def check_model_folder(folder: Path, whole: bool = True) -> None:
    """Raises UserError if a folder cannot be pinned, and says what is wrong and what to do. whole: it must
    have weights."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such model folder; correct it under models in params.yaml")
    for path in folder.iterdir():
        check_plain(path)
    if whole:
        check_weights([path.name for path in folder.iterdir()], f"{folder}", "save the model as")
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder}: no config.json; the folder is not a whole model, fetch it anew")
    config = read_json(folder / "config.json")
    for path in sorted(folder.glob("*config.json")):
        check_no_code(path, config)
    check_covered(folder)
    if whole:
        check_parts({path.name: path for path in folder.iterdir()}, config, f"{folder}")


def check_parts(files: Mapping[str, Path | None], config: Mapping[str, Any], where: str) -> None:
    """Raises UserError if a model lacks its tokenizer or, if it reads images, its image processor.

    files: name -> path, None for a file that is not on this machine. config: the model's config.json.
    """
    advice = "copy it from the model that these weights were made of, or save the model with its processor"
    if config.get("model_type") not in WITHOUT_VOCABULARY and not any(map(VOCABULARY.fullmatch, files)):
        raise UserError(f"{where}: no tokenizer (tokenizer.json or the like); {advice}")
    own = files.get(PROCESSOR)
    if (
        reads_images(config)
        and IMAGE_PROCESSOR not in files
        and not (own and "image_processor" in read_json(own))
    ):
        raise UserError(
            f"{where}: no image processor ({IMAGE_PROCESSOR}), but the model takes images; {advice}"
        )


def check_weights(names: Sequence[str], where: str, advice: str) -> None:
    """Raises UserError if none of a model's files holds safetensors weights."""
    if not any(name.endswith(WEIGHT_SUFFIX) for name in names):
        pickled = sorted(name for name in names if name.endswith(PICKLED))
        what = f"only pickled weights ({pickled[0]}), which can run code" if pickled else "no weights"
        raise UserError(f"{where}: {what}; {advice} {WEIGHT_SUFFIX} files")


def check_no_code(path: Path, config: Mapping[str, Any]) -> None:
    """Raises UserError if a configuration needs code, or leads out of the model's folder.

    config: the model's config.json. If transformers has a class for it, that is loaded and not the code.
    """
    values = read_json(path)
    if "auto_map" in values and not has_class(config):
        raise UserError(
            f"{path}: asks for code of its own (auto_map), which is never run by itself; take a version of "
            "the model that transformers loads by itself, or give it a program "
            "(docs/add-a-model.md#a-model-with-code-of-its-own)"
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
    """Keys and values of a configuration and of those nested in it, however deep."""
    left = [values]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield from value.items()
            left += value.values()
        elif isinstance(value, list):
            left += value


def dtype_of(config: Mapping[str, Any]) -> Dtype:
    """The dtype of a config.json, or the language model's if the whole has none; else float32."""
    text = config.get("text_config")
    for part in (config, text if isinstance(text, Mapping) else {}):
        for key in ("dtype", "torch_dtype"):
            for dtype in _DTYPES:
                if part.get(key) == dtype:
                    return dtype
    return "float32"


def weight_files(folder: Path) -> list[Path]:
    """The weight files that transformers loads: those of the index, or the only one. Raises UserError."""
    names = [path.name for path in folder.iterdir() if path.is_file()]
    return [folder / name for name in loaded_weights(names, folder / INDEX, f"{folder}")]


def loaded_weights(names: Sequence[str], index: Path, where: str) -> list[str]:
    """The files of a model whose weights transformers loads. index: the path of INDEX, if among them."""
    if INDEX not in names:
        return [SINGLE] if SINGLE in names else sorted(name for name in names if name.endswith(WEIGHT_SUFFIX))
    weights = list(indexed_files(index))
    missing = [name for name in weights if name not in names]
    if missing:
        raise UserError(f"{where}: lacks {missing[0]}, which {INDEX} names; fetch the whole model")
    return weights


def count_parameters(folder: Path) -> int:
    """Numbers stored in the weight files, from their headers.

    Raises UserError if a file is cut short, or if a configuration claims sizes that the weights do not have.
    """
    shapes = [shape for path in weight_files(folder) for shape in tensor_shapes(path)]
    longest = max((side for shape in shapes for side in shape), default=0)
    for path in sorted(folder.glob("*config.json")):
        check_claims(path, len(shapes), longest)
    return sum(map(math.prod, shapes))


def tensor_shapes(path: Path) -> list[list[int]]:
    """The shapes of the tensors of a weight file. Raises UserError if it is damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as weights:  # checks header and size
            return [weights.get_slice(name).get_shape() for name in weights.keys()]  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: damaged or cut short ({error!s:.100}); fetch the model anew") from None


def check_claims(path: Path, tensors: int, longest: int) -> None:
    """Raises UserError if a configuration names more layers than there are tensors, or a size that no side
    of them has: a library would build all of it before it checks. longest: the longest side.

    Nor may a list be so long that going through it for every image takes minutes.
    """
    for key, value in _entries(read_json(path)):
        if isinstance(value, list) and len(value) > ENTRIES:
            raise UserError(
                f"{path}: {key} has {len(value):,} entries, of which {ENTRIES:,} are known to no model; "
                "correct it, or fetch the model anew"
            )
        layers = _LAYERS.fullmatch(key)
        if not layers and not _SIZE.fullmatch(key):
            continue
        most = max(LAYERS, tensors) if layers else max(SIZE, longest)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, int | float) and not (one <= most and (one >= 0 or not layers)):
                raise UserError(
                    f"{path}: {key} is {one}, which weights of {tensors:,} tensors, up to {longest:,} long, "
                    "cannot have; correct it, or fetch the model anew"
                )
