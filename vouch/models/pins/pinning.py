"""What a branch of a hub repository is now: a commit, and SHA-256 of every file a model is loaded from.

Weights are not downloaded: the hub knows the digests of large files, and a safetensors header tells the
shapes. Small files are fetched and hashed.

What a source of `models` in params.yaml is at this moment: the pin of a model.

    NAME: FOLDER          a model folder (config.json and safetensors), or a folder of released answers
    NAME: models.lock     a model of the hub or a server, as its entry there says

An entry of models.lock beside a folder may add what the folder does not say: dtype, chat template, processor
settings, digests, facts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from vouch.models.pins.config import HubSource, LockEntry, ServerSource
from vouch.models.pins.model_folder import (
    PICKLED,
    check_arrived,
    check_digests,
    check_model_folder,
    check_no_code,
    check_weights,
    count_parameters,
    has_class,
    loaded_weights,
)
from vouch.models.released.files import answer_files, relative
from vouch.pipeline.dag import left_out
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.hub import BRANCH, one_line
from vouch.tables.answered import (
    INDEX,
    WEIGHT_SUFFIX,
    Dtype,
    Pin,
    Reasoning,
    Source,
    file_digest,
    folder_digests,
    hub_snapshot,
    is_loaded,
    read_json,
)

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


TEMPLATES = Path("vouch/models/chat/templates")


def read_template(name: str) -> str:
    """The text of a template. Raises UserError for an unknown one, with those there are."""
    known = sorted(path.stem for path in TEMPLATES.glob("*.jinja"))
    if name not in known:
        raise UserError(f"models.lock: no template {name:.60} in {TEMPLATES}; {did_you_mean(name, known)}")
    return (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")


def fetch(repo: str, revision: str | None) -> Path:
    """The folder that holds one commit, fetched where the cache lacks it. Raises UserError.

    Only files that a model is loaded from are fetched; of its subfolders, a second tokenizer's alone. With
    HF_HUB_OFFLINE=1 the cache alone is asked. The folder is named after the commit.
    """
    from huggingface_hub import constants

    with one_line(repo, revision or BRANCH, "pin", "source in models.lock"):
        return hub_snapshot(repo, revision or BRANCH, constants.HF_HUB_OFFLINE)


LOCK = "models.lock"


def pinned(name: str, source: str, entries: Mapping[str, Any]) -> Pin:
    """The pin of a model.

    source: its value in params.yaml. entries: `models` of models.lock. Reads, and hashes, every file that can
    change an answer; a model of the hub is fetched where this machine lacks it. Raises UserError, one line.
    """
    entry = LockEntry.model_validate(entries[name]) if name in entries else None
    if source == LOCK:
        return _of_entry(name, entry)
    if part := left_out(source):
        raise UserError(
            f"{source}: .dvcignore leaves out {part}, so changes would go unseen; move the folder"
        )
    if is_model(Path(source)):
        plain = LockEntry.model_validate({"source": {"kind": "folder", "path": source}})
        return _of_folder(name, Path(source), entry or plain)
    files = answer_files(Path(source), name)
    return Pin(
        model=name,
        engine="released",
        source=Source(kind="released", path=source),
        files={relative(file.path, Path(source)): file_digest(file.path) for file in files.values()},
        facts=entry.facts.model_dump(exclude_defaults=True) if entry else {},
    )


def is_model(path: Path) -> bool:
    """Whether a source is meant as a model, whole or not; else it holds answers, or is one file of them."""
    names = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    return not path.exists() or any(
        n == "config.json" or n.endswith((WEIGHT_SUFFIX, *PICKLED)) for n in names
    )


def _of_entry(name: str, entry: LockEntry | None) -> Pin:
    if entry is None:
        raise UserError(f"{LOCK}: has no model {name}; `vouch lock {name} --repo OWNER/NAME` adds it")
    if isinstance(entry.source, ServerSource):
        return _pin(name, entry, {}, "float32", entry.parameters)
    if not isinstance(entry.source, HubSource):
        raise UserError(f"params.yaml: models.{name}: {LOCK} says it is a folder; write {entry.source.path}")
    if not entry.pinned and not entry.unpinned:
        raise UserError(
            f"{LOCK}: {name} is not pinned, its commit is missing; run `vouch lock {name}`, or write "
            "`unpinned: true` into its entry"
        )
    folder = fetch(entry.source.repo, entry.source.revision)
    # the commit, for which a branch that is not resolved yet stands now
    source = entry.source.model_copy(update={"revision": folder.name})
    return _of_folder(name, folder, entry.model_copy(update={"source": source}))


def _of_folder(name: str, folder: Path, entry: LockEntry) -> Pin:
    check_model_folder(folder)
    counted, digests = count_parameters(folder), folder_digests(folder)
    if isinstance(entry.source, HubSource):
        check_arrived(digests, folder)
    check_digests(entry.files, digests, folder)
    dtype = entry.dtype or dtype_of(read_json(folder / "config.json"))
    return _pin(name, entry, digests, dtype, entry.parameters or counted)


def _pin(name: str, entry: LockEntry, files: dict[str, str], dtype: Dtype, parameters: int | None) -> Pin:
    return Pin(
        model=name,
        engine=entry.engine,
        source=Source.model_validate(entry.source.model_dump()),
        files=files,
        template=read_template(entry.template) if entry.template else None,
        processor=entry.processor,
        answer_prefix=entry.answer_prefix,
        template_kwargs=entry.template_variables,
        reasoning=entry.reasoning if isinstance(entry.reasoning, Reasoning) else None,
        dtype=dtype,
        parameters=parameters,
        facts=entry.facts.model_dump(exclude_defaults=True),
    )
