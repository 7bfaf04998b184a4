"""What a branch of a hub repository is now: a commit, and SHA-256 of every file a model is loaded from.

Weights are not downloaded: the hub knows the digests of large files, and a safetensors header tells the
shapes. Small files are fetched and hashed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from vouch.models.pins.model_folder import PICKLED, check_no_code, check_weights, has_class, loaded_weights
from vouch.pipeline.errors import UserError
from vouch.pipeline.hub import BRANCH, one_line
from vouch.tables.pins import INDEX, Dtype, file_digest, is_loaded, read_json

_DTYPES: tuple[Dtype, ...] = get_args(Dtype)


@dataclass(frozen=True)
class Resolved:
    """One commit of a model. head: the latest one. files: name -> SHA-256. licence: as the model card writes
    it, else null."""

    revision: str
    head: str
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
        head = commit if revision == BRANCH else str(api.model_info(repo, revision=BRANCH).sha)
        found = {file.rfilename: file for file in info.siblings or ()}
        names = sorted(name for name in found if is_loaded(name))
        _check_names(repo, list(found), names)
        known = {name: str(found[name].lfs.sha256) for name in names if found[name].lfs}
        read = [name for name in names if name not in known or name.endswith("config.json") or name == INDEX]
        local = {name: Path(hf_hub_download(repo, name, revision=commit)) for name in read}
        config = read_json(local["config.json"])
        for name in read:
            if name.endswith("config.json"):
                check_no_code(local[name], config)
        check_model_type(config, repo)
        headers = [
            api.parse_safetensors_file_metadata(repo, name, revision=commit)
            for name in loaded_weights(names, local.get(INDEX, Path()), repo)
        ]
    return Resolved(
        revision=commit,
        head=head,
        files={name: known.get(name) or file_digest(local[name]) for name in names},
        dtype=dtype_of(config),
        parameters=sum(sum(header.parameter_count.values()) for header in headers),
        licence=_licence(info.card_data),
    )


def dtype_of(config: Mapping[str, Any]) -> Dtype:
    """The dtype of a config.json, the language model's where the whole has none; else float32."""
    text = config.get("text_config")
    for part in (config, text if isinstance(text, Mapping) else {}):
        for key in ("dtype", "torch_dtype"):
            for dtype in _DTYPES:
                if part.get(key) == dtype:
                    return dtype
    return "float32"


def check_model_type(config: Mapping[str, Any], where: str) -> None:
    """Raises UserError where transformers has no class of its own for a model."""
    if not has_class(config):
        from transformers import __version__

        raise UserError(
            f"{where}: model_type {config.get('model_type')} is none that transformers {__version__} loads "
            "for pictures and text, or for text; take a converted version of the model (often named -hf)"
        )


def _check_names(repo: str, found: list[str], names: list[str]) -> None:
    pickled = [name for name in found if name.endswith(PICKLED)]
    check_weights([*names, *pickled], repo, "take a repository with")
    if "config.json" not in names:
        raise UserError(f"{repo}: no config.json; take a repository in the form of transformers")


def _licence(card: Any) -> str | None:
    """The model card's licence; `other` gives way to the name beside it."""
    licence = getattr(card, "license", None)
    if licence == "other":
        licence = getattr(card, "license_name", None) or licence
    return ", ".join(map(str, licence)) if isinstance(licence, list) else licence
