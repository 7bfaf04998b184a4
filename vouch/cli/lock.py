"""`vouch lock`: pins models and datasets to a commit or to the digests of their files."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.scalarstring import DoubleQuotedScalarString as Quoted

from vouch.cli.command import argument, command
from vouch.cli.use import copies_of, edited, editor, flow, flowing
from vouch.datasets.config import DatasetEntry
from vouch.datasets.fetch.download import fetch
from vouch.datasets.fetch.hub import commit_of
from vouch.datasets.fetch.origin import REMOTE, Download, Origin
from vouch.models.kinds import check_model_type, takes_images
from vouch.models.lock_entry import LOCAL_ENGINE, FolderSource, HubSource, LockEntry, ServerSource
from vouch.models.model_folder import check_model_folder, count_parameters, dtype_of
from vouch.models.pins import part_folder, resolve, resolve_own_code
from vouch.params.project import MODELS, Models
from vouch.pipeline.dag import PARAMS
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.files import write_text
from vouch.pipeline.hub import BRANCH
from vouch.pipeline.validation import validated
from vouch.pipeline.yaml12 import loads
from vouch.tables.answered import folder_digests, read_json
from vouch.tables.asked import OUTPUTS


def with_origin(text: str) -> list[str]:
    """Names of the datasets that have an origin."""
    values = loads(text, PARAMS)
    datasets = values.get("datasets") if isinstance(values, Mapping) else None
    entries = datasets.items() if isinstance(datasets, Mapping) else ()
    return [str(name) for name, entry in entries if isinstance(entry, Mapping) and entry.get("origin")]


def _unpinned(params: str) -> Iterator[str]:
    """The datasets and models of a profile that come from the network and lack a commit or digests."""
    values = loads(params, PARAMS)
    for name in with_origin(params):
        entry = validated(DatasetEntry, values["datasets"][name], f"{PARAMS}: datasets.{name}")
        if entry.source == REMOTE and entry.origin and not entry.origin.pinned:
            yield name
    models = _validated(MODELS.read_text(encoding="utf-8")).models
    named = {**(values.get("models") or {}), **(values.get("helpers") or {})}
    for name, model in ((name, models[name]) for name in named if name in models):
        digested = not isinstance(model.source, HubSource) or (model.pinned and model.digested)
        if not digested or (model.program and not model.program.locked):
            yield name


def lock_dataset(name: str, revision: str | None) -> str:
    """Pins a dataset in params.yaml and in the profiles equal to it; returns a line that says what it did."""
    path = Path(PARAMS)
    before = path.read_text(encoding="utf-8")
    text, pinned_to = locked_data(before, name, revision)
    if text == before:
        return f"{pinned_to}; nothing to change"
    copies = copies_of(before.encode())
    write_text(path, text)
    for file in copies:
        profile = editor().load(file.read_text("utf-8"))
        profile["datasets"][name]["origin"] = editor().load(text)["datasets"][name]["origin"]
        write_text(file, edited(profile))
    where = " and ".join(map(str, (path, *copies)))
    return f"{pinned_to}; written to {where}" + ("" if copies else ", which no profile is a copy of")


def locked_data(text: str, name: str, revision: str | None) -> tuple[str, str]:
    """The text of params.yaml with one dataset pinned, and a description of the pin. Raises UserError.

    For a dataset on the hub only its card is fetched; for a digest, the file itself, into the store.
    """
    values = loads(text, PARAMS)
    entry = validated(DatasetEntry, values["datasets"][name], f"{PARAMS}: datasets.{name}")
    origin = entry.origin
    if origin is None or entry.source != REMOTE:
        raise UserError(
            f"datasets.{name} is read from {entry.source}, which DVC tracks; there is nothing to pin"
        )
    document = editor().load(text)
    written = document["datasets"][name]["origin"]
    if origin.hub is not None:
        commit = commit_of(name, origin, revision or origin.revision or BRANCH)
        written["revision"] = Quoted(commit)
        try:
            head = commit_of(name, origin, BRANCH)
        except UserError:  # the branch lacks these files, which may be only in the hub's conversion
            head = commit
        pinned_to = f"{origin.hub} at {commit[:12]}{moved_on(name, commit, head)}"
    else:
        if revision:
            raise UserError(f"datasets.{name}: files at addresses have no revision; leave out --revision")
        known = [Download(url=one.url, name=one.name) for one in origin.downloads]
        files = fetch(name, Origin(parts=known)).files  # as they are on the servers now
        parts = [written] if origin.url is not None else written["parts"]
        for part, file in zip(parts, files, strict=True):
            part["sha256"] = Quoted(file.digest)
        pinned_to = f"{origin}: {len(files)} files by their SHA-256"
    written.pop("unpinned", None)
    return edited(document), pinned_to


def moved_on(name: str, commit: str, head: str) -> str:
    """A remark if the head of the hub's repository is another commit; otherwise empty."""
    if commit == head:
        return ""
    return f"; {BRANCH} has moved on to {head[:12]}, `vouch lock {name} --revision {BRANCH}` follows"


@command(
    "lock",
    "pin models and datasets to a commit, or to the digests of their files",
    argument(
        "names",
        names="sources",
        nargs="*",
        metavar="NAME",
        help="models of models.lock (a new one needs --repo) and datasets; default: everything in the "
        "present profile that comes from the network and lacks a commit or digests",
    ),
    argument("--repo", metavar="OWNER/NAME", help="repository of the hub"),
    argument(
        "--revision", help=f"branch, tag or commit to resolve; default: the known commit, else {BRANCH}"
    ),
)
def run(options: argparse.Namespace) -> int:
    """Pin models and datasets, so that a run tomorrow uses the same bytes.

    For a model, models.lock gets the commit of its hub repository, and the SHA-256 of every file that the
    model is loaded from. Values that people wrote there stay: only digests are replaced, and missing values
    (commit, engine, dtype, parameters, licence) are filled in. No weights are downloaded. A model in a folder
    is pinned by the digests of its files.

    A model with a program of its own is also pinned by its driver, the authors' code and the packages of its
    environment, which must be here: the driver is started, without weights, and says what it reads.

    For a dataset with an `origin`, the commit of its hub repository or the SHA-256 of its files goes into
    params.yaml, and into the profile of which params.yaml is a copy.

    A known commit stays, and a line says if its repository has newer ones; --revision main takes the newest.

    Examples:
      vouch lock                                     everything in the profile without a commit or digests
      vouch lock llava_v1_5_7b mmbench
      vouch lock llava_v1_5_7b --revision main       the latest commit
      vouch lock my_model --repo OWNER/NAME          a new entry of models.lock
    """
    if not MODELS.is_file():
        raise UserError(f"{MODELS}: no such file; restore it from version control")
    if (options.repo or options.revision) and len(options.names) != 1:
        raise UserError("--repo and --revision need the name of one model or dataset; give it")
    params = Path(PARAMS).read_text(encoding="utf-8") if Path(PARAMS).is_file() else "{}"
    names = options.names or list(_unpinned(params))
    for name in names:
        print(f"lock: {name}: {_lock(name, options.repo, options.revision, with_origin(params))}", flush=True)
    if not names:
        print("lock: everything that this profile reads from the network is pinned")
    return 0


def _lock(name: str, repo: str | None, revision: str | None, datasets: Sequence[str]) -> str:
    """Pins a model or dataset; returns a description of the pin. datasets: those with an origin."""
    before = MODELS.read_text(encoding="utf-8")
    if name in datasets and name not in _validated(before).models:
        if repo:
            raise UserError(
                f"{PARAMS}: {name} is a dataset, and --repo is for models; correct its origin there, or take "
                "a new name"
            )
        return lock_dataset(name, revision)
    text, pinned_to = locked(before, name, repo, revision, datasets)
    if text == before:
        return f"{pinned_to}; nothing to change"
    write_text(MODELS, text)
    return pinned_to


def locked(
    text: str, name: str, repo: str | None, revision: str | None, others: Sequence[str] = ()
) -> tuple[str, str]:
    """models.lock with one entry pinned, and a description of the pin. others: datasets' names to suggest.

    Raises UserError.
    """
    known = name in _validated(text).models
    document = editor().load(text)
    entry = _entry(document["models"], name, repo, revision, others)
    # a wrong name or repository is refused before the hub is asked
    model = _validated(edited(document)).models[name]
    source = model.source
    if model.program:
        pinned_to = _of_program(name, entry, model, revision)
    elif isinstance(source, HubSource):
        again = f"vouch lock {name}" + ("" if known else f" --repo {source.repo}")
        pin = resolve(source.repo, revision or source.revision or BRANCH, again)
        entry["source"]["revision"] = Quoted(pin.revision)
        facts = {"licence": pin.licence} if pin.licence else {}
        fill(entry, pin.files, pin.dtype, pin.parameters, facts)
        pinned_to = f"{source.repo} at {pin.revision[:12]}, {len(pin.files)} files"
        pinned_to += _noted(name, entry, pin.sees)
        pinned_to += moved_on(name, pin.revision, pin.head)
    elif isinstance(source, FolderSource):
        folder = Path(source.path)
        check_model_folder(folder)
        config = read_json(folder / "config.json")
        check_model_type(config, str(folder))
        files = folder_digests(folder)
        fill(entry, files, dtype_of(config), count_parameters(folder), {})
        pinned_to = f"{folder}, {len(files)} files" + _noted(name, entry, takes_images(config))
    else:
        pinned_to = f"{source.name} at {source.url}" + _of_server(name, entry, source)
    changed = edited(document)
    _validated(changed)
    return changed, pinned_to


def _of_program(name: str, entry: CommentedMap, model: LockEntry, revision: str | None) -> str:
    """Pins a model with code of its own: files, driver, code and environment. Raises UserError."""
    from vouch.models.program.engine import examined
    from vouch.models.program.identity import model_files, short

    source, noted = model.source, ""
    if isinstance(source, HubSource):
        pin = resolve_own_code(source.repo, revision or source.revision or BRANCH, f"vouch lock {name}")
        entry["source"]["revision"] = Quoted(pin.revision)
        folder, files, commit = pin.folder, pin.files, f"{source.repo} at {pin.revision[:12]}"
        noted = moved_on(name, pin.revision, pin.head)
    else:
        assert isinstance(source, FolderSource)
        folder, commit = Path(source.path), source.path
        files = model_files(folder)
    assert model.program is not None
    parts = {part: part_folder(one, weights=False) for part, one in model.program.parts.items()}
    locked_facts, outputs = examined(name, model, folder, parts)
    fill(entry, files)
    if outputs != list(OUTPUTS) or "outputs" in entry:
        _put(entry, "outputs", None)
        entry["outputs"] = flowing(outputs)
        noted = f"; it gives {', '.join(outputs)}{noted}"
    entry["program"].fa.set_block_style()
    values = locked_facts.model_dump(exclude_none=True)
    entry["program"]["locked"] = CommentedMap({key: flowing(value) for key, value in values.items()})
    code = f", code at {short(locked_facts.commit)}" if locked_facts.commit else ""
    environment = f"{model.program.environment} ({len(locked_facts.packages)} packages)"
    return f"{commit}, {len(files)} files, {model.program.driver} in {environment}{code}{noted}"


def _of_server(name: str, entry: CommentedMap, source: ServerSource) -> str:
    """Asks a server what its model can do, and writes that into the entry; says what. Raises UserError."""
    from vouch.models.server.abilities import served_abilities

    can = served_abilities(name, source.url, source.name)
    noted = _noted(name, entry, sees=False) if can.sees is False else ""
    if can.outputs is not None and (can.outputs != OUTPUTS or "outputs" in entry):
        _put(entry, "outputs", None)
        entry["outputs"] = flowing(can.outputs)  # also in place of another list
        noted += f"; it gives {', '.join(can.outputs)}"
    if not noted:
        advice = (
            f"does not answer whether {source.name} takes images and gives log-probabilities; start it and "
            f"run `vouch lock {name}` again"
            if can.sees is None or can.outputs is None
            else "use it as it is"
        )
        raise UserError(f"{MODELS}: {name} is on a server, which has no files to pin; {advice}")
    return noted


def _noted(name: str, entry: CommentedMap, sees: bool) -> str:
    """Writes into an entry that its model takes no images; says so. Raises UserError if it says otherwise."""
    if entry.get("sees") not in (None, sees):
        raise UserError(
            f"{MODELS}: {name}: says sees: {str(not sees).lower()}, but the model takes "
            f"{'' if sees else 'no '}images; take sees out of it"
        )
    if sees:
        return ""
    _put(entry, "sees", False)
    entry["sees"] = False  # also in place of `sees: null`
    return "; it takes no images"


def _entry(
    models: CommentedMap, name: str, repo: str | None, revision: str | None, others: Sequence[str]
) -> CommentedMap:
    """The entry to pin: an existing one, a new one, or one that `repo` points to another repository."""
    if (repo or revision) and name in models and models[name]["source"]["kind"] != "hub":
        raise UserError(
            f"{MODELS}: {name} is not a model of the hub; leave out --repo and --revision, or take a new name"
        )
    if name not in models:
        if not repo:
            known = did_you_mean(name, [*models, *others])
            raise UserError(f"{MODELS}: no model {name}; give --repo OWNER/NAME to add it; {known}")
        models.fa.set_block_style()  # an empty `models: {}`
        models[name] = CommentedMap(source=flow(kind="hub", repo=repo, revision=None))
    elif repo and repo != models[name]["source"]["repo"]:
        models[name]["source"].update(repo=repo, revision=None)
    entry: CommentedMap = models[name]
    if entry.fa.flow_style():  # on one line: turned into several, with its comment after the last
        entry.fa.set_block_style()
        if name in models.ca.items:
            entry.ca.items[next(reversed(entry))] = models.ca.items.pop(name)
            entry.ca.comment = None  # ruamel.yaml keeps the same comment here
    return entry


def _validated(text: str) -> Models:
    return validated(Models, loads(text, str(MODELS)), str(MODELS))


def fill(
    entry: CommentedMap,
    files: dict[str, str],
    dtype: str | None = None,
    parameters: int | None = None,
    facts: Mapping[str, str] = {},
) -> None:
    """Replaces the digests of an entry, and adds the keys that are missing."""
    _put(entry, "engine", LOCAL_ENGINE)
    for key, value in (("dtype", dtype), ("parameters", parameters)):
        if value is not None:
            _put(entry, key, value)
    if facts:
        _put(entry, "facts", flow())
        for key, value in facts.items():
            if entry["facts"].get(key) is None:
                entry["facts"].pop(key, None)
                _put(entry["facts"], key, value)
    if "files" not in entry:
        _put(entry, "files", CommentedMap())
    entry["files"] = _digests(entry["files"], files)


def _put(entry: CommentedMap, key: str, value: Any) -> None:
    """Adds a missing key: before the last key if a comment follows, as that belongs to the next entry."""
    if key not in entry:
        entry.insert(max(len(entry) - 1, 0) if _has_tail(entry) else len(entry), key, value)


def _has_tail(entry: CommentedMap) -> bool:
    """Whether a comment or an empty line follows the last line of a mapping."""
    last = next(reversed(entry), None)
    value = entry.get(last)
    if isinstance(value, CommentedMap) and not value.fa.flow_style():
        return _has_tail(value)
    return last in entry.ca.items


def _digests(old: CommentedMap, files: dict[str, str]) -> CommentedMap:
    """The digests sorted, with the comments beside the old ones, and the one after the last."""
    new = CommentedMap((name, files[name]) for name in sorted(files))
    last = next(reversed(old), None)
    for name, comment in old.ca.items.items():
        if name in new and name != last:
            new.ca.items[name] = comment
    if last in old.ca.items:
        new.ca.items[next(reversed(new))] = old.ca.items[last]
    return new
