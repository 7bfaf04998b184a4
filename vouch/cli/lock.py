"""Pin a model or a dataset. A model: the commit of its hub repository, or what its folder holds, and the
SHA-256 of every file it is loaded from go into models.lock; what people wrote there stays: only the revision
and the digests are replaced, and what is missing (engine, dtype, parameters, licence) is filled in. No
weights are downloaded. A dataset with an `origin`: the commit of its hub repository, or the SHA-256 of its
files, goes into params.yaml and into the profile that this is a copy of, and its name off `unpinned`."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap

from vouch.cli.lock_data import lock_dataset, unpinned_datasets, with_origin
from vouch.cli.round_trip import dumped, quoted, round_trip
from vouch.models.pins.config import FolderSource, HubSource
from vouch.models.pins.hub import BRANCH
from vouch.models.pins.model_folder import check_model_folder, count_parameters
from vouch.models.pins.resolve import check_model_type, dtype_of, resolve
from vouch.params.project import MODELS, Models
from vouch.pipeline.dag import PARAMS
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.files import write_text
from vouch.pipeline.validation import validated
from vouch.pipeline.yaml12 import loads
from vouch.tables.pins import folder_digests, read_json


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch lock`."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="models of models.lock (a new one needs --repo) and datasets; default: all of the present "
        "profile that come from the network and are not pinned",
    )
    parser.add_argument("--repo", metavar="OWNER/NAME", help="repository of the hub")
    parser.add_argument("--revision", help=f"branch, tag or commit to resolve, default: {BRANCH}")


def run(options: argparse.Namespace) -> int:
    """Rewrites entries of models.lock and params.yaml, one after the other."""
    if not MODELS.is_file():
        raise UserError(f"{MODELS}: no such file; restore it from version control")
    if (options.repo or options.revision) and len(options.names) != 1:
        raise UserError("--repo and --revision are of one model or dataset; name it")
    params = Path(PARAMS).read_text(encoding="utf-8") if Path(PARAMS).is_file() else "{}"
    names = options.names or [*unpinned_datasets(params), *_unpinned_models(params)]
    for name in names:
        print(f"lock: {name}: {_lock(name, options.repo, options.revision, with_origin(params))}", flush=True)
    if not names:
        print("lock: all that this profile reads from the network is pinned")
    return 0


def _lock(name: str, repo: str | None, revision: str | None, datasets: Sequence[str]) -> str:
    """Pins one and says what it is pinned to. datasets: names of those that can be. Raises UserError."""
    before = MODELS.read_text(encoding="utf-8")
    if name in datasets and name not in _validated(before).models:
        if repo:
            raise UserError(
                f"{PARAMS}: {name} is a dataset, and --repo is for models; correct its origin there, or take "
                "a new name"
            )
        return lock_dataset(name, revision)
    text, said = locked(before, name, repo, revision, datasets)
    if text == before:
        return f"{said}; nothing to change"
    write_text(MODELS, text)
    return said


def _unpinned_models(params: str) -> list[str]:
    """The models of a profile that come from the hub and are not pinned."""
    models = _validated(MODELS.read_text(encoding="utf-8")).models
    values = loads(params, PARAMS)
    used = {**(values.get("models") or {}), **(values.get("helpers") or {})}
    there = [name for name in used if name in models]
    return [n for n in there if isinstance(models[n].source, HubSource) and not models[n].pinned]


def locked(
    text: str, name: str, repo: str | None, revision: str | None, others: Sequence[str] = ()
) -> tuple[str, str]:
    """models.lock with one entry pinned, and what it is pinned to. others: names pinned elsewhere.

    Raises UserError.
    """
    _validated(text)
    yaml = round_trip()
    document = yaml.load(text)
    entry = _entry(document["models"], name, repo, revision, others)
    # a new name or repository may be wrong: say so before the hub is asked
    source = _validated(dumped(yaml, document)).models[name].source
    if isinstance(source, HubSource):
        said = _pin_repository(entry, name, source, revision)
    elif isinstance(source, FolderSource):
        said = _pin_folder(entry, Path(source.path))
    else:
        raise UserError(
            f"{MODELS}: {name} is answered by a server, which has no files to pin; use it as it is"
        )
    changed = dumped(yaml, document)
    _validated(changed)
    return changed, said


def _entry(
    models: CommentedMap, name: str, repo: str | None, revision: str | None, others: Sequence[str]
) -> CommentedMap:
    """The entry to pin, made or pointed to another repository where `repo` asks for it."""
    if (repo or revision) and name in models and models[name]["source"]["kind"] != "hub":
        raise UserError(
            f"{MODELS}: {name} is no model of the hub; leave out --repo and --revision, or take a new name"
        )
    if name not in models:
        if not repo:
            known = did_you_mean(name, [*models, *others])
            raise UserError(f"{MODELS}: no model {name}; give --repo OWNER/NAME to add it; {known}")
        models.fa.set_block_style()  # an empty `models: {}`
        models[name] = CommentedMap(source=_flow(kind="hub", repo=repo, revision=None))
    elif repo:
        models[name]["source"]["repo"] = repo
    return _as_block(models, name)


def _pin_repository(entry: CommentedMap, name: str, source: HubSource, revision: str | None) -> str:
    """Asks the hub; what the entry is pinned to."""
    found = resolve(source.repo, revision or BRANCH, f"vouch lock {name}")
    entry["source"]["revision"] = quoted(found.revision)
    facts = {"licence": found.licence} if found.licence else {}
    _fill(entry, found.files, found.dtype, found.parameters, facts)
    return f"{source.repo} at {found.revision[:12]}, {len(found.files)} files"


def _pin_folder(entry: CommentedMap, folder: Path) -> str:
    """Hashes what the folder holds; what the entry is pinned to."""
    check_model_folder(folder)
    config = read_json(folder / "config.json")
    check_model_type(config, str(folder))
    files = folder_digests(folder)
    _fill(entry, files, dtype_of(config), count_parameters(folder), {})
    return f"{folder}, {len(files)} files"


def _as_block(models: CommentedMap, name: str) -> CommentedMap:
    """The entry, over several lines if it stood on one; what follows it stays behind it."""
    entry: CommentedMap = models[name]
    if entry.fa.flow_style():
        entry.fa.set_block_style()
        if name in models.ca.items:
            entry.ca.items[next(reversed(entry))] = models.ca.items.pop(name)
            entry.ca.comment = None  # ruamel.yaml keeps the same comment here
    return entry


def _fill(entry: CommentedMap, files: dict[str, str], dtype: str, parameters: int, facts: Any) -> None:
    _put(entry, "engine", "transformers")
    _put(entry, "dtype", dtype)
    _put(entry, "parameters", parameters)
    if facts:
        _put(entry, "facts", _flow())
        for key, value in facts.items():
            if entry["facts"].get(key) is None:
                entry["facts"].pop(key, None)
                _put(entry["facts"], key, value)
    if "files" not in entry:
        _put(entry, "files", CommentedMap())
    entry["files"] = _digests(entry["files"], files)


def _put(entry: CommentedMap, key: str, value: Any) -> None:
    """Adds a key that is missing, before the last one: comments behind that one belong to what follows."""
    if key not in entry:
        entry.insert(max(len(entry) - 1, 0) if _has_tail(entry) else len(entry), key, value)


def _has_tail(entry: CommentedMap) -> bool:
    """Whether a comment or empty line stands behind the last line of a mapping."""
    last = next(reversed(entry), None)
    value = entry.get(last)
    if isinstance(value, CommentedMap) and not value.fa.flow_style():
        return _has_tail(value)
    return last in entry.ca.items


def _digests(old: CommentedMap, files: dict[str, str]) -> CommentedMap:
    """Sorted digests, with the comments that stood beside the old ones and behind the last of them."""
    new = CommentedMap((name, files[name]) for name in sorted(files))
    last = next(reversed(old), None)
    for name, comment in old.ca.items.items():
        if name in new and name != last:
            new.ca.items[name] = comment
    if last in old.ca.items:
        new.ca.items[next(reversed(new))] = old.ca.items[last]
    return new


def _flow(**values: Any) -> CommentedMap:
    mapping = CommentedMap(values)
    mapping.fa.set_flow_style()
    return mapping


def _validated(text: str) -> Models:
    return validated(Models, loads(text, str(MODELS)), str(MODELS))
