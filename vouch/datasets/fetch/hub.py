"""From a dataset's `source` and `origin` to the files that its loader reads, fetched where needed.

`locate` is the entry. The tables of a configuration and split are chosen by the rules of the Hugging Face
hub: the front matter of a repository's README.md names them (`configs`), else their own names do. Only the
chosen files are fetched, at one commit; code of a repository is never run, and a hostile README.md costs no
time. (`datasets` resolves a README.md only against local files, and importing it takes 1.9 s and 170 MiB.)
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vouch.datasets.fetch.download import (
    STORE,
    Fetched,
    StoredFile,
    check_room,
    digest_of,
    fetch_address,
    is_whole,
    recall,
    remember,
)
from vouch.datasets.fetch.origin import REMOTE, Origin, check_name
from vouch.datasets.read.files import UNSEEN, File, Source, walk
from vouch.pipeline.dag import left_out
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.hub import BRANCH, one_line
from vouch.pipeline.yaml12 import loads

CARD = "README.md"
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_EVERY = "*"
_WILD = re.compile(r"(\*\*|\*|\?)")
_TABLE = ".parquet"
_LONGEST_FRONT = 1 << 18  # characters; parsing 26 MB of YAML takes minutes
_Entries = Sequence[Mapping[str, Any]]


def choose(names: Sequence[str], card: str, config: str | None, split: str, where: str) -> list[str]:
    """The tables of the splits (`a+b`), split by split, config by config. Raises UserError.

    names: all files of the repository. card: the text of its README.md, or empty.
    """
    entries = _entries(card, where)
    known = _named(entries) or _by_names(names)
    wanted = _wanted(known, config or _default(entries), where)
    chosen: list[str] = []
    for one in split.split("+"):
        with_split = [name for name in wanted if one in known[name]]
        if not with_split or (config != _EVERY and len(with_split) < len(wanted)):
            splits = sorted({split for name in wanted for split in known[name]})
            raise UserError(f"{where}: no split {one:.60}; {did_you_mean(one, splits)}")
        chosen += [file for name in with_split for file in _matching(names, known[name][one], where)]
    return chosen


def _named(entries: _Entries) -> dict[str, dict[str, list[str]]]:
    """Configuration -> split -> patterns of file names, from the card; empty where it has none."""
    by_config = {str(entry.get("config_name")): _splits(entry.get("data_files")) for entry in entries}
    return {name: splits for name, splits in by_config.items() if splits}


def _default(entries: _Entries) -> str:
    """The configuration that the card marks as its default, or empty."""
    return str(next((entry.get("config_name") for entry in entries if entry.get("default") is True), ""))


def _entries(card: str, where: str) -> _Entries:
    """The entries under `configs` in the front matter of a card."""
    front = _FRONT.match(card)
    if front and len(front[1]) > _LONGEST_FRONT:
        raise UserError(
            f"{where}: {CARD} has more than {_LONGEST_FRONT:,} characters of metadata, which are not "
            "read; name the tables under `files`"
        )
    values = loads(front[1], f"{where}: {CARD}") if front else None
    entries = values.get("configs") if isinstance(values, Mapping) else None
    return [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []


def _splits(data: Any) -> dict[str, list[str]]:
    if isinstance(data, str):
        return {"train": [data]}
    if isinstance(data, list) and all(isinstance(pattern, str) for pattern in data):
        return {"train": list(data)} if data else {}
    splits = {}
    for entry in data if isinstance(data, list) else ():
        path = entry.get("path") if isinstance(entry, Mapping) else None
        if path and isinstance(entry.get("split"), str):
            splits[entry["split"]] = [str(one) for one in path] if isinstance(path, list) else [str(path)]
    return splits


def _by_names(names: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """From names like `CONFIG/SPLIT-00000-of-00001.parquet`; in `data` or no folder CONFIG is `default`."""
    by_config: dict[str, dict[str, list[str]]] = {}
    for name in names:
        folder, _, file = name.rpartition("/")
        match = re.fullmatch(r"([A-Za-z]\w*?)(?:-[\w.-]*)?\.parquet", file)
        if match:
            config = "default" if folder in ("", "data") else folder
            by_config.setdefault(config, {}).setdefault(match[1], []).append(name)
    return by_config


def _wanted(known: Mapping[str, Any], config: str, where: str) -> list[str]:
    if not known:
        raise UserError(
            f"{where}: no tables ({CARD} names none, and there is no {_TABLE} file); code of a repository is "
            "never run: take a version of the dataset in parquet, or name its `files`"
        )
    if config == _EVERY:
        return sorted(known)
    name = config or (next(iter(known)) if len(known) == 1 else "default")
    if name not in known:
        raise UserError(f"{where}: no config {name:.60}; {did_you_mean(name, list(known))}")
    return [name]


def _matching(names: Sequence[str], patterns: Sequence[str], where: str) -> list[str]:
    matched = match(names, patterns)
    if not matched:
        raise UserError(f"{where}: no file is named {patterns[0]}; fetch it again")
    other = next((name for name in matched if not name.endswith(_TABLE)), None)
    if other:
        raise UserError(f"{where}: {other} is not a {_TABLE} file; name it under `files`")
    return matched


def match(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The names that match a pattern, pattern by pattern, each once: `*` stops at a slash, `**` does not."""
    matched: dict[str, None] = {}
    for pattern in patterns:
        parts = [part for part in _WILD.split(pattern.removeprefix("./")) if part]
        matched |= dict.fromkeys(sorted(name for name in names if _fits(name, parts)))
    return list(matched)


def _fits(name: str, parts: Sequence[str]) -> bool:
    """Whether a name matches the parts of a pattern, in time proportional to the product of their lengths."""
    ends = {0}
    for part in parts:
        if part == "**":
            ends = set(range(min(ends), len(name) + 1))
        elif part == "*":
            # Of several positions in one folder, the first reaches all that the others reach.
            last = {name.find("/", start) % (len(name) + 1): start for start in sorted(ends, reverse=True)}
            ends = {end for stop, start in last.items() for end in range(start, stop + 1)}
        elif part == "?":
            ends = {start + 1 for start in ends if name[start : start + 1] not in ("", "/")}
        else:
            ends = {start + len(part) for start in ends if name.startswith(part, start)}
        if not ends:
            return False
    return len(name) in ends


# Organisations that repositories have moved between: both are tried, the named one first.
ORGANISATIONS = (("lmms-lab", "lmms-lab-encoder"),)


def fetch_hub(name: str, origin: Origin) -> Fetched:
    """Fetches the chosen files into the store and verifies each. name: the dataset's. Raises UserError."""
    repo, revision = str(origin.hub), origin.revision or BRANCH
    with one_line(repo, revision, f"vouch fetch {name}", f"datasets.{name}.origin"):
        repo, info = _info(repo, revision)
        commit = str(info.sha)
        there = {sibling.rfilename: sibling for sibling in info.siblings or ()}
        chosen = _chosen(repo, commit, origin, there)
        for file in chosen:
            try:
                check_name(file)
            except ValueError as error:
                raise UserError(f"{repo}: {error}") from None
        check_room(sum(there[file].size or 0 for file in chosen), repo)
        return Fetched(commit, tuple(_kept(repo, commit, file, there[file]) for file in chosen))


def commit_of(name: str, origin: Origin, revision: str) -> str:
    """The commit of a branch or tag that has what the origin chooses. name: the dataset's.

    Raises UserError.
    """
    repo = str(origin.hub)
    with one_line(repo, revision, f"vouch lock {name}", f"datasets.{name}.origin"):
        repo, info = _info(repo, revision)
        there = {sibling.rfilename: sibling for sibling in info.siblings or ()}
        _chosen(repo, str(info.sha), origin, there)
        return str(info.sha)


def same_repositories(repo: str) -> list[str]:
    """The repository, and those that it may have moved to."""
    owner, _, rest = repo.partition("/")
    others = next((group for group in ORGANISATIONS if owner in group), ())
    return [repo, *(f"{other}/{rest}" for other in others if other != owner)]


def _info(repo: str, revision: str) -> tuple[str, Any]:
    """The first of the repositories that has the commit, and the hub's information about it."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    error: Exception | None = None
    for candidate in same_repositories(repo):
        try:
            return candidate, HfApi().dataset_info(candidate, revision=revision, files_metadata=True)
        except GatedRepoError:
            raise
        except (RepositoryNotFoundError, RevisionNotFoundError) as problem:
            if error is None or isinstance(problem, RevisionNotFoundError):  # the repository exists
                error = problem
    assert error is not None
    raise error


def _chosen(repo: str, commit: str, origin: Origin, there: dict[str, Any]) -> list[str]:
    if origin.split is None:
        names = match(sorted(there), origin.files)
        missing = [pattern for pattern in origin.files if not match(sorted(there), [pattern])]
        if missing:
            raise UserError(f"{repo}: no file {missing[0]} at {commit[:12]}; correct origin.files")
        return names
    card = ""
    if CARD in there:
        card = _download(repo, commit, CARD).read_text(encoding="utf-8", errors="replace")
    return choose(sorted(there), card, origin.config, origin.split, repo)


def _download(repo: str, commit: str, name: str) -> Path:
    from huggingface_hub import hf_hub_download

    cache = STORE / "hub"
    return Path(hf_hub_download(repo, name, repo_type="dataset", revision=commit, cache_dir=cache))


def _kept(repo: str, commit: str, name: str, sibling: Any) -> StoredFile:
    """The file, fetched and compared with the hub's digest. Raises UserError."""
    path = _download(repo, commit, name)
    size = path.stat().st_size
    expected = str(sibling.lfs.sha256 if sibling.lfs else sibling.blob_id)
    digest = digest_of(path, expected)
    if expected != digest or sibling.size not in (None, size):
        path.resolve().unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        raise UserError(
            f"{repo}: {name}: {size:,} bytes with digest {digest}, but the hub's is {expected}; it was "
            "damaged in transfer and has been removed; fetch it again"
        )
    return StoredFile(name, str(path.absolute().relative_to(STORE.absolute())), size, expected)


def locate(name: str, source: str, origin: Origin | None, place: str = "") -> Source:
    """What a loader reads, fetched where it is not on this machine. Raises UserError.

    place: what to get from where, for a dataset that no program can fetch.
    """
    if source != REMOTE and (part := left_out(source)):
        raise UserError(f"datasets.{name}.source: {source}: {UNSEEN.format(part)}")
    if origin is None:
        if source == REMOTE:
            how = place or "add `origin`, or name a folder that holds its files as `source`"
            raise UserError(f"datasets.{name}: nothing to fetch: {how}")
        return Source(Path(source))
    if source != REMOTE:
        return Source(Path(source), tuple(_mirrored(name, Path(source), origin)), origin)
    fetched = recall(origin)
    if fetched is None or not is_whole(fetched):
        fetched = fetch(name, origin)
    return Source(Path(source), fetched.listed(), origin, fetched.revision)


def is_here(source: str, origin: Origin | None) -> bool:
    """Whether it can be read without fetching."""
    return source != REMOTE or origin is None or recall(origin) is not None


def promised(origin: Origin) -> Source:
    """The source as far as known before it is fetched: its parts and the names of its downloads."""
    names = [download.filename for download in origin.downloads]
    return Source(Path(REMOTE), tuple(File(name, Path(name)) for name in names), origin)


def fetch(name: str, origin: Origin) -> Fetched:
    """Fetches the files of an origin that are not in the store, and returns all of them. Raises UserError."""
    if origin.hub is not None:
        fetched = fetch_hub(name, origin)
    else:
        check_room(0, f"datasets.{name}")
        fetched = Fetched(None, tuple(fetch_address(name, download) for download in origin.downloads))
    remember(origin, fetched)
    return fetched


def _mirrored(name: str, folder: Path, origin: Origin) -> list[File]:
    """The files of a folder that the origin chooses. Raises UserError."""
    there = {file.name: file for file in walk(folder)}
    names = list(there)
    if origin.split is not None:
        card = there[CARD].checked().read_text(encoding="utf-8", errors="replace") if CARD in there else ""
        return [there[one] for one in choose(names, card, origin.config, origin.split, str(folder))]
    patterns = origin.files or [download.filename for download in origin.downloads]
    missing = [pattern for pattern in patterns if not match(names, [pattern])]
    if missing:
        raise UserError(
            f"{folder}: no file {missing[0]}, which datasets.{name}.origin names; put it there, or write "
            f"`source: {REMOTE}` to have it fetched"
        )
    return [there[one] for one in match(names, patterns)]
