"""What a branch of a hub repository is now: a commit, and SHA-256 of every file a model is loaded from.

Weights are not downloaded: the hub knows the digests of large files, and a safetensors header tells the
shapes. Small files are fetched and hashed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vouch.models.pins.model_folder import PICKLED, SINGLE, check_no_code
from vouch.pipeline.errors import UserError
from vouch.pipeline.hub import one_line
from vouch.tables.pins import INDEX, WEIGHT_SUFFIX, file_digest, indexed_files, is_loaded, read_json

_DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Resolved:
    """One commit of a model. files: name -> SHA-256. licence: as the model card writes it, else null."""

    revision: str
    files: dict[str, str]
    dtype: str
    parameters: int
    licence: str | None


def resolve(repo: str, revision: str, command: str) -> Resolved:
    """Asks the hub about a branch, tag or commit. Raises UserError, one line, where it cannot be pinned.

    command: what a person runs again, for the errors.
    """
    from huggingface_hub import HfApi, hf_hub_download

    api = HfApi()
    with one_line(repo, revision, command, "--repo or --revision"):
        info = api.model_info(repo, revision=revision, files_metadata=True)
        commit = str(info.sha)
        found = {file.rfilename: file for file in info.siblings or ()}
        names = sorted(name for name in found if is_loaded(name))
        _check_names(repo, list(found), names)
        known = {name: str(found[name].lfs.sha256) for name in names if found[name].lfs}
        read = [name for name in names if name not in known or name.endswith("config.json") or name == INDEX]
        local = {name: Path(hf_hub_download(repo, name, revision=commit)) for name in read}
        for name in read:
            if name.endswith("config.json"):
                check_no_code(local[name])
        config = read_json(local["config.json"])
        check_model_type(config, repo)
        headers = [
            api.parse_safetensors_file_metadata(repo, name, revision=commit)
            for name in _weights(repo, names, local)
        ]
    return Resolved(
        revision=commit,
        files={name: known.get(name) or file_digest(local[name]) for name in names},
        dtype=dtype_of(config),
        parameters=sum(sum(header.parameter_count.values()) for header in headers),
        licence=_licence(info.card_data),
    )


def dtype_of(config: Mapping[str, Any]) -> str:
    """The dtype of a config.json, the language model's where the whole has none; else float32."""
    text = config.get("text_config")
    for part in (config, text if isinstance(text, Mapping) else {}):
        for key in ("dtype", "torch_dtype"):
            if part.get(key) in _DTYPES:
                return str(part[key])
    return _DTYPES[0]


def check_model_type(config: Mapping[str, Any], where: str) -> None:
    """Raises UserError where transformers has no class of its own that answers questions on pictures, that
    writes text (a rewriter of questions), or that encodes texts, or pictures and texts."""
    from transformers import __version__
    from transformers.models.auto import modeling_auto as known

    kind = config.get("model_type")
    usable = (
        known.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
        known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        known.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        known.MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES,
    )
    if not any(kind in names for names in usable):
        raise UserError(
            f"{where}: model_type {kind} is none that transformers {__version__} loads for pictures and "
            "text, or for text; take a converted version of the model (often named -hf)"
        )


def _check_names(repo: str, found: list[str], names: list[str]) -> None:
    if not any(name.endswith(WEIGHT_SUFFIX) for name in names):
        pickled = sorted(name for name in found if name.endswith(PICKLED))
        what = f"only pickled weights ({pickled[0]}), which can run code" if pickled else "no weights"
        raise UserError(f"{repo}: {what}; take a repository with {WEIGHT_SUFFIX} files")
    if "config.json" not in names:
        raise UserError(f"{repo}: no config.json; take a repository in the form of transformers")


def _weights(repo: str, names: list[str], local: Mapping[str, Path]) -> list[str]:
    """The weight files that transformers loads: those of the index, or the only one."""
    if INDEX not in names:
        return [SINGLE] if SINGLE in names else [name for name in names if name.endswith(WEIGHT_SUFFIX)]
    weights = indexed_files(local[INDEX])
    missing = [name for name in weights if name not in names]
    if missing:
        raise UserError(f"{repo}: lacks {missing[0]}, which {INDEX} names; take a whole repository")
    return weights


def _licence(card: Any) -> str | None:
    """The model card's licence; `other` gives way to the name beside it."""
    licence = getattr(card, "license", None)
    if licence == "other":
        licence = getattr(card, "license_name", None) or licence
    return ", ".join(map(str, licence)) if isinstance(licence, list) else licence
