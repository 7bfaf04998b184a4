"""The datasets of `vouch lock`: a commit, or the SHA-256 of files at addresses, goes into params.yaml."""

from collections.abc import Mapping
from pathlib import Path

from ruamel.yaml.scalarstring import DoubleQuotedScalarString as Quoted

from vouch.cli.entries import copies_of, edited, editor
from vouch.datasets.cleaning.config import DatasetEntry
from vouch.datasets.fetch.hub import commit_of
from vouch.datasets.fetch.locate import fetch
from vouch.datasets.fetch.origin import REMOTE, Download, Origin
from vouch.pipeline.dag import PARAMS
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import write_text
from vouch.pipeline.hub import BRANCH
from vouch.pipeline.validation import validated
from vouch.pipeline.yaml12 import loads


def with_origin(text: str) -> list[str]:
    """Names of the datasets that have an origin."""
    values = loads(text, PARAMS)
    datasets = values.get("datasets") if isinstance(values, Mapping) else None
    entries = datasets.items() if isinstance(datasets, Mapping) else ()
    return [str(name) for name, entry in entries if isinstance(entry, Mapping) and entry.get("origin")]


def unpinned_datasets(text: str) -> list[str]:
    """Names of the datasets that are fetched, from wherever that is by now. Raises UserError."""
    entries = {name: loads(text, PARAMS)["datasets"][name] for name in with_origin(text)}
    found = {
        name: validated(DatasetEntry, entry, f"{PARAMS}: datasets.{name}") for name, entry in entries.items()
    }
    return [n for n, one in found.items() if one.source == REMOTE and one.origin and not one.origin.pinned]


def lock_dataset(name: str, revision: str | None) -> str:
    """Pins a dataset in params.yaml and in the profile that it is a copy of; says what it did."""
    path = Path(PARAMS)
    before = path.read_text(encoding="utf-8")
    text, said = locked_data(before, name, revision)
    if text == before:
        return f"{said}; nothing to change"
    copies = copies_of(before.encode())
    write_text(path, text)
    for file in copies:
        profile = editor().load(file.read_text("utf-8"))
        profile["datasets"][name]["origin"] = editor().load(text)["datasets"][name]["origin"]
        write_text(file, edited(profile))
    where = " and ".join(map(str, (path, *copies)))
    return f"{said}; written to {where}" + ("" if copies else ", which no profile is a copy of")


def locked_data(text: str, name: str, revision: str | None) -> tuple[str, str]:
    """params.yaml with one dataset pinned, and what it is pinned to. Raises UserError.

    Of a hub dataset nothing but its card is fetched; a digest needs the file, which goes to the store.
    """
    values = loads(text, PARAMS)
    entry = validated(DatasetEntry, values["datasets"][name], f"{PARAMS}: datasets.{name}")
    origin = entry.origin
    if origin is None or entry.source != REMOTE:
        raise UserError(
            f"datasets.{name} is read from {entry.source}, which DVC watches: there is nothing to pin"
        )
    document = editor().load(text)
    written = document["datasets"][name]["origin"]
    if origin.hub is not None:
        commit = commit_of(name, origin, revision or origin.revision or BRANCH)
        written["revision"] = Quoted(commit)
        said = f"{origin.hub} at {commit[:12]}{moved_on(name, commit, commit_of(name, origin, BRANCH))}"
    else:
        if revision:
            raise UserError(f"datasets.{name}: files at addresses have no revision; leave out --revision")
        known = [Download(url=one.url, name=one.name) for one in origin.downloads]
        files = fetch(name, Origin(parts=known)).files  # as the servers have them now
        parts = [written] if origin.url is not None else written["parts"]
        for part, file in zip(parts, files, strict=True):
            part["sha256"] = Quoted(file.digest)
        said = f"{origin}: {len(files)} files by their SHA-256"
    written.pop("unpinned", None)
    return edited(document), said


def moved_on(name: str, commit: str, head: str) -> str:
    """Says where the hub's head is another commit."""
    if commit == head:
        return ""
    return f"; {BRANCH} has moved on to {head[:12]}, `vouch lock {name} --revision {BRANCH}` follows"
