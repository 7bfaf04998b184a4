"""What a source of `models` in params.yaml is at this moment: the pin of a model.

    NAME: FOLDER          a model folder (config.json and safetensors), or a folder of released answers
    NAME: models.lock     a model of the hub or a server, as its entry there says

An entry of models.lock beside a folder may add what the folder does not say: dtype, chat template, processor
settings, digests, facts.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vouch.models.pins.config import HubSource, LockEntry, ServerSource
from vouch.models.pins.model_folder import (
    PICKLED,
    check_arrived,
    check_digests,
    check_model_folder,
    count_parameters,
)
from vouch.models.pins.resolve import dtype_of
from vouch.models.released.files import answer_files, relative
from vouch.pipeline.dag import left_out
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.hub import BRANCH, one_line
from vouch.tables.pins import (
    WEIGHT_SUFFIX,
    Dtype,
    Pin,
    Reasoning,
    Source,
    file_digest,
    folder_digests,
    hub_snapshot,
    read_json,
)

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
