"""What a model folder must be before its weights are trusted: whole, safetensors, without code of its own."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vouch.pipeline.errors import UserError
from vouch.pipeline.files import check_plain
from vouch.tables.answered import INDEX, WEIGHT_SUFFIX, check_covered, indexed_files, read_json

PICKLED = (".bin", ".pt", ".pth", ".ckpt")
SINGLE = "model.safetensors"
ADAPTER = "adapter_config.json"
# transformers opens what these name, pickles too
SPEAKING = ("audio_tokenizer", "audio_tokenizer_name_or_path")
# what a configuration may claim of any model, however few its weights are
LAYERS, SIZE, ENTRIES = 64, 1 << 16, 1 << 14
_LAYERS = re.compile(r"(\w+_)?num_(\w+_)?layers|n_layers?|(en|de)coder_layers|layers|depths?")
_SIZE = re.compile(r"num_\w+|n_(embd|head|inner)|\w+_(size|dim|heads|channels)|d_\w+")
ATTENTION = ("attn_implementation", "_attn_implementation", "_attn_implementation_internal")


def check_model_folder(folder: Path) -> None:
    """Raises UserError where a folder cannot be pinned, with what is wrong and what to do."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such model folder; correct it under models in params.yaml")
    for path in folder.iterdir():
        check_plain(path)
    check_weights([path.name for path in folder.iterdir()], f"{folder}", "save the model as")
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder}: no config.json; the folder is not a whole model, fetch it anew")
    config = read_json(folder / "config.json")
    for path in sorted(folder.glob("*config.json")):
        check_no_code(path, config)
    check_covered(folder)


def check_weights(names: Sequence[str], where: str, advice: str) -> None:
    """Raises UserError where none of a model's files holds safetensors weights."""
    if not any(name.endswith(WEIGHT_SUFFIX) for name in names):
        pickled = sorted(name for name in names if name.endswith(PICKLED))
        what = f"only pickled weights ({pickled[0]}), which can run code" if pickled else "no weights"
        raise UserError(f"{where}: {what}; {advice} {WEIGHT_SUFFIX} files")


def has_class(config: Mapping[str, Any]) -> bool:
    """Whether transformers has a class of its own for a config.json: one that answers questions on pictures,
    that writes text (a rewriter of questions), or that encodes texts, or pictures and texts."""
    from transformers.models.auto import modeling_auto as known

    return any(
        config.get("model_type") in names
        for names in (
            known.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
            known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
            known.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
            known.MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES,
        )
    )


def check_no_code(path: Path, config: Mapping[str, Any]) -> None:
    """Raises UserError where a configuration needs code, or leads out of the model's folder.

    config: the model's config.json. Where transformers has a class for it, that is loaded and not the code.
    """
    values = read_json(path)
    if "auto_map" in values and not has_class(config):
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
    names = [path.name for path in folder.iterdir() if path.is_file()]
    return [folder / name for name in loaded_weights(names, folder / INDEX, f"{folder}")]


def loaded_weights(names: Sequence[str], index: Path, where: str) -> list[str]:
    """Those of a model's files whose weights transformers loads. index: INDEX, where it is among them."""
    if INDEX not in names:
        return [SINGLE] if SINGLE in names else sorted(name for name in names if name.endswith(WEIGHT_SUFFIX))
    weights = list(indexed_files(index))
    missing = [name for name in weights if name not in names]
    if missing:
        raise UserError(f"{where}: lacks {missing[0]}, which {INDEX} names; fetch the whole model")
    return weights


def count_parameters(folder: Path) -> int:
    """Numbers stored in the weight files, from their headers.

    Raises UserError where a file is cut short, or where a configuration claims what the weights cannot be.
    """
    shapes = [shape for path in weight_files(folder) for shape in _shapes(path)]
    longest = max((side for shape in shapes for side in shape), default=0)
    for path in sorted(folder.glob("*config.json")):
        check_claims(path, len(shapes), longest)
    return sum(map(math.prod, shapes))


def _shapes(path: Path) -> list[list[int]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as weights:  # checks header and size
            return [weights.get_slice(name).get_shape() for name in weights.keys()]  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: damaged or cut short ({error!s:.100}); fetch the model anew") from None


def check_arrived(found: Mapping[str, str], folder: Path) -> None:
    """Raises UserError where a file of a hub's commit is not what the hub announced.

    The hub's cache keeps a large file under the SHA-256 that its commit names, and links to it.
    """
    for name, digest in found.items():
        announced = (folder / name).resolve().name
        if len(announced) == len(digest) and announced != digest:
            raise UserError(
                f"{folder / name}: SHA-256 is {digest}, its commit says {announced}; it was damaged on its "
                "way, remove it and fetch the model anew"
            )


def check_claims(path: Path, tensors: int, longest: int) -> None:
    """Raises UserError where a configuration names more layers than there are tensors, or a size that no side
    of them has: a library would build all of it before it looks. longest: side of the weights.

    Nor may a list be so long that going through it for every picture takes minutes.
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
