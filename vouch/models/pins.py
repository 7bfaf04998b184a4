"""Pins: exactly which weights a name of `models` in params.yaml means.

    NAME: FOLDER          a model folder (config.json and safetensors), or a folder of released answers
    NAME: models.lock     a model of the hub or a server, as its entry there says

An entry of models.lock beside a folder may add what the folder does not say: dtype, chat template, processor
settings, digests, facts. model_folder.py says which folders are trusted. `resolve` asks the hub what a branch
is now, without fetching weights: the hub knows the digests of large files, and a safetensors header tells the
shapes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vouch.models.kinds import check_model_type, class_name, takes_images
from vouch.models.lock_entry import LOCK, FolderSource, HubSource, LockEntry, ServerSource
from vouch.models.model_folder import (
    PICKLED,
    check_model_folder,
    check_no_code,
    check_parts,
    check_weights,
    count_parameters,
    dtype_of,
    is_model,
    loaded_weights,
    tensor_shapes,
)
from vouch.pipeline.dag import left_out
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.files import file_digest
from vouch.pipeline.hub import BRANCH, one_line
from vouch.tables.answered import (
    INDEX,
    WEIGHT_SUFFIX,
    Dtype,
    Pin,
    Reasoning,
    Source,
    folder_digests,
    hub_snapshot,
    is_loaded,
    read_json,
)


def pinned(name: str, source: str, entries: Mapping[str, Any], whole: bool = True) -> Pin:
    """The pin of a model.

    source: its value in params.yaml. entries: `models` of models.lock. Reads, and hashes, every file that can
    change an answer; a model of the hub is fetched if this machine lacks it. whole: if not, nothing is hashed
    or fetched, weights may be missing, and the pin has no digests. Raises UserError, one line.
    """
    entry = LockEntry.model_validate(entries[name]) if name in entries else None
    if source == LOCK:
        return _of_entry(name, entry, whole)
    if part := left_out(source):
        raise UserError(
            f"{source}: .dvcignore leaves out {part}, so changes would go unseen; move the folder"
        )
    if entry and entry.program:
        return _of_program(name, Path(source), entry, whole)
    if is_model(Path(source)):
        plain = LockEntry.model_validate({"source": {"kind": "folder", "path": source}})
        return _of_folder(name, Path(source), entry or plain, whole)
    from vouch.models.released.files import answer_files, relative

    files = answer_files(Path(source), name) if whole else {}
    return Pin(
        model=name,
        engine="released",
        source=Source(kind="released", path=source),
        files={relative(file.path, Path(source)): file_digest(file.path) for file in files.values()},
        sees=not (entry and entry.sees is False),
        facts=entry.facts.model_dump(exclude_defaults=True) if entry else {},
    )


def _of_entry(name: str, entry: LockEntry | None, whole: bool) -> Pin:
    if entry is None:
        raise UserError(f"{LOCK}: has no model {name}; `vouch lock {name} --repo OWNER/NAME` adds it")
    if isinstance(entry.source, ServerSource):
        return _pin(name, entry, {}, "float32", entry.parameters, entry.sees is not False)
    if not isinstance(entry.source, HubSource):
        raise UserError(f"params.yaml: models.{name}: {LOCK} says it is a folder; write {entry.source.path}")
    if not entry.pinned and not entry.unpinned:
        raise UserError(
            f"{LOCK}: {name} is not pinned, its commit is missing; run `vouch lock {name}`, or write "
            "`unpinned: true` into its entry"
        )
    command = "pin" if whole else f"dvc repro pin@{name}"
    own = entry.program is not None
    folder = fetch(entry.source.repo, entry.source.revision, command, local=not whole, everything=own)
    # the commit that an unresolved branch points to now
    source = entry.source.model_copy(update={"revision": folder.name})
    of = _of_program if own else _of_folder
    return of(name, folder, entry.model_copy(update={"source": source}), whole)


def _of_program(name: str, folder: Path, entry: LockEntry, whole: bool) -> Pin:
    """The pin of a model whose code is its own: it may read any file of its folder."""
    from vouch.models.program.identity import model_files, program_pin

    assert entry.program is not None
    digests = model_files(folder) if whole else {}
    if isinstance(entry.source, HubSource):
        check_arrived(digests, folder)
    check_digests(entry.files if whole else {}, digests, folder)
    config = folder / "config.json"
    dtype = entry.dtype or dtype_of(read_json(config) if config.is_file() else {})
    counted = sum(
        math.prod(shape)
        for path in sorted(folder.rglob(f"*{WEIGHT_SUFFIX}"))
        for shape in tensor_shapes(path)
    )
    parts = {part: part_folder(one, whole) for part, one in entry.program.parts.items()}
    pin = _pin(name, entry, digests, dtype, entry.parameters or counted or None, entry.sees is not False)
    program = program_pin(name, entry.program, parts, whole)
    return pin.model_copy(update={"program": program})


def part_folder(source: FolderSource | HubSource, whole: bool = True, weights: bool = True) -> Path:
    """The folder of a further model of a program. Raises UserError.

    whole: whether to fetch it if it is of the hub. weights: if not, its other files do.
    """
    if isinstance(source, HubSource):
        return fetch(source.repo, source.revision, local=not whole, everything=True, weights=weights)
    if whole and not Path(source.path).is_dir():
        raise UserError(f"{source.path}: no such folder; correct program.parts in {LOCK}")
    return Path(source.path)


def _of_folder(name: str, folder: Path, entry: LockEntry, whole: bool) -> Pin:
    check_model_folder(folder, whole)
    counted, digests = (count_parameters(folder), folder_digests(folder)) if whole else (None, {})
    if whole and isinstance(entry.source, HubSource):
        check_arrived(digests, folder)
    check_digests(entry.files if whole else {}, digests, folder)
    config = read_json(folder / "config.json")
    sees = takes_images(config)
    if entry.sees not in (None, sees):
        raise UserError(
            f"{LOCK}: {name}: says sees: {str(entry.sees).lower()}, but {folder / 'config.json'} is of a "
            f"model that takes {'' if sees else 'no '}images ({class_name(config)}); leave sees out"
        )
    return _pin(name, entry, digests, entry.dtype or dtype_of(config), entry.parameters or counted, sees)


def _pin(
    name: str, entry: LockEntry, files: dict[str, str], dtype: Dtype, parameters: int | None, sees: bool
) -> Pin:
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
        sees=sees,
        outputs=entry.outputs,
        dtype=dtype,
        parameters=parameters,
        facts=entry.facts.model_dump(exclude_defaults=True),
    )


TEMPLATES = Path("vouch/models/chat/templates")


def read_template(name: str) -> str:
    """The text of a template. Raises UserError for an unknown one, with those there are."""
    known = sorted(path.stem for path in TEMPLATES.glob("*.jinja"))
    if name not in known:
        raise UserError(f"models.lock: no template {name:.60} in {TEMPLATES}; {did_you_mean(name, known)}")
    return (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")


def fetch(
    repo: str,
    revision: str | None,
    command: str = "pin",
    local: bool = False,
    everything: bool = False,
    weights: bool = True,
) -> Path:
    """The folder that holds one commit, fetched if the cache lacks it. Raises UserError.

    Only files that a model is loaded from are fetched; of its subfolders, only a second tokenizer's. With
    HF_HUB_OFFLINE=1, or `local`, only the cache is asked. The folder is named after the commit. command: what
    fetches it otherwise, for errors. everything: all files but pickles, for a model with code of its own; of
    these, `weights` may be left out.
    """
    from huggingface_hub import constants

    with one_line(repo, revision or BRANCH, command, "source in models.lock"):
        local |= constants.HF_HUB_OFFLINE
        return hub_snapshot(repo, revision or BRANCH, local, everything, weights)


def check_arrived(digests: Mapping[str, str], folder: Path) -> None:
    """Raises UserError if a file of a hub's commit is not what the hub announced.

    The hub's cache keeps a large file under the SHA-256 that its commit names, and links to it.
    """
    for name, digest in digests.items():
        announced = (folder / name).resolve().name
        if len(announced) == len(digest) and announced != digest:
            raise UserError(
                f"{folder / name}: SHA-256 is {digest}, its commit says {announced}; it was damaged on its "
                "way, remove it and fetch the model anew"
            )


def check_digests(expected: Mapping[str, str], digests: Mapping[str, str], folder: Path) -> None:
    """Raises UserError if a file does not have the digest that models.lock gives for it."""
    for name, digest in expected.items():
        if name not in digests:
            raise UserError(
                f"{folder}: has no {name}, for which models.lock gives a digest; correct one of them"
            )
        if digests[name] != digest:
            raise UserError(
                f"{folder / name}: SHA-256 is {digests[name]}, models.lock says {digest}; "
                "fetch the file anew, or correct models.lock if the change is wanted"
            )


@dataclass(frozen=True)
class Resolved:
    """One commit of a model. head: the latest one. files: name -> SHA-256. licence: as the model card writes
    it, else null. sees: whether it takes images."""

    revision: str
    head: str
    files: dict[str, str]
    dtype: str
    parameters: int
    licence: str | None
    sees: bool


def resolve(repo: str, revision: str, command: str) -> Resolved:
    """Asks the hub about a branch, tag or commit. Raises UserError, one line, if it cannot be pinned.

    command: the command to run again, named in the errors.
    """
    from huggingface_hub import HfApi, hf_hub_download

    api = HfApi()
    with one_line(repo, revision, command, "--repo or --revision"):
        info = api.model_info(repo, revision=revision, files_metadata=True)
        commit = str(info.sha)
        head = commit if revision == BRANCH else str(api.model_info(repo, revision=BRANCH).sha)
        listed = {file.rfilename: file for file in info.siblings or ()}
        names = sorted(name for name in listed if is_loaded(name))
        pickled = [name for name in listed if name.endswith(PICKLED)]
        check_weights([*names, *pickled], repo, "take a repository with")
        if "config.json" not in names:
            raise UserError(f"{repo}: no config.json; take a repository in the form of transformers")
        known = {name: str(listed[name].lfs.sha256) for name in names if listed[name].lfs}
        read = [name for name in names if name not in known or name.endswith("config.json") or name == INDEX]
        local = {name: Path(hf_hub_download(repo, name, revision=commit)) for name in read}
        config = read_json(local["config.json"])
        for name in read:
            if name.endswith("config.json"):
                check_no_code(local[name], config)
        check_model_type(config, repo)
        check_parts({name: local.get(name) for name in names}, config, repo)
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
        sees=takes_images(config),
    )


@dataclass(frozen=True)
class ResolvedCode:
    """One commit of a model with code of its own. folder: all of it but the weights. head, files: see
    Resolved."""

    revision: str
    head: str
    folder: Path
    files: dict[str, str]


def resolve_own_code(repo: str, revision: str, command: str) -> ResolvedCode:
    """Like `resolve`, for a model that no class of transformers loads; its small files are fetched, and no
    code runs. Raises UserError."""
    from huggingface_hub import HfApi

    from vouch.models.program.identity import model_files

    api = HfApi()
    with one_line(repo, revision, command, "--repo or --revision"):
        info = api.model_info(repo, revision=revision, files_metadata=True)
        commit = str(info.sha)
        head = commit if revision == BRANCH else str(api.model_info(repo, revision=BRANCH).sha)
        listed = {file.rfilename: file for file in info.siblings or ()}
        check_weights(list(listed), repo, "take a repository with")
        folder = hub_snapshot(repo, commit, local=False, everything=True, weights=False)
    weights = {
        name: str(file.lfs.sha256)
        for name, file in listed.items()
        if file.lfs and name.endswith(WEIGHT_SUFFIX)
    }
    return ResolvedCode(commit, head, folder, dict(sorted({**model_files(folder), **weights}.items())))


def _licence(card: Any) -> str | None:
    """The model card's licence; for `other`, the name that the card gives beside it."""
    licence = getattr(card, "license", None)
    if licence == "other":
        licence = getattr(card, "license_name", None) or licence
    return ", ".join(map(str, licence)) if isinstance(licence, list) else licence
