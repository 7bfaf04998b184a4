"""Finds the files of a dataset on the Hugging Face hub, such as the tables of a split, and fetches them.

The front matter of a repository's README.md names the tables of a configuration and split (`configs`), or
the files' names do; the tests compare both with what `datasets` takes. Only the chosen files are fetched, at
one commit; code of a repository is never run, and a hostile README.md costs no time. (`datasets` resolves a
README.md only against files that are present, and follows it to any address or folder that it names.)
"""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from vouch.datasets.fetch.download import STORE, Fetched, StoredFile, check_room, digest_of
from vouch.datasets.fetch.origin import Origin, check_name
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.hub import BRANCH, one_line
from vouch.pipeline.yaml12 import loads

CARD = "README.md"
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_ALL = "*"
_WILD = re.compile(r"((?<![^/])\*\*/|\*\*|\*|\?|\[!?[^]/]+\])")
_TABLES = (".parquet", ".arrow", ".tsv", ".csv", ".jsonl", ".json")
_SPLIT = re.compile(r"([A-Za-z]\w*?)(?:-[\w.-]*)?\.parquet")
_LONGEST_FRONT = 1 << 18  # characters; parsing 26 MB of YAML takes minutes


def choose(names: Sequence[str], card: str, config: str | None, split: str, where: str) -> list[str]:
    """The tables of the splits (`a+b`), split by split, config by config. Raises UserError.

    names: all files of the repository. card: the text of its README.md, or empty.
    """
    entries = _entries(card, where)
    named = {str(entry.get("config_name")): _splits(entry, names) for entry in entries}
    default = next((entry.get("config_name") for entry in entries if entry.get("default") is True), "")
    known = {name: splits for name, splits in named.items() if splits} or _by_names(names)
    wanted = _wanted(known, config or str(default), where)
    chosen: list[str] = []
    for part in split.split("+"):
        with_split = [name for name in wanted if part in known[name]]
        if not with_split or (config != _ALL and len(with_split) < len(wanted)):
            splits = sorted({split for name in wanted for split in known[name]})
            raise UserError(f"{where}: no split {part:.60}; {did_you_mean(part, splits)}")
        for patterns in (known[name][part] for name in with_split):
            files = match(names, patterns)
            if not files:
                raise UserError(f"{where}: no file is named {patterns[0]:.80}; fetch it again")
            if other := next((file for file in files if not file.lower().endswith(_TABLES)), None):
                raise UserError(
                    f"{where}: {other} is not a table ({', '.join(_TABLES)}); name it under `files`"
                )
            chosen += files
    return chosen


def _entries(card: str, where: str) -> Sequence[Mapping[str, Any]]:
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


def _splits(entry: Mapping[str, Any], names: Sequence[str]) -> dict[str, list[str]]:
    """The patterns of each split of an entry, or the files in its `data_dir`, by their names."""
    data, folder = entry.get("data_files"), entry.get("data_dir")
    if data is None and isinstance(folder, str):
        below = "".join(f"{part}/" for part in folder.split("/") if part not in ("", "."))
        inside = _by_names([name.removeprefix(below) for name in names if name.startswith(below)])
        return {split: [below + name for name in files] for split, files in inside.get("default", {}).items()}
    if isinstance(data, str):
        return {"train": [data]}
    if isinstance(data, list) and all(isinstance(pattern, str) for pattern in data):
        return {"train": list(data)} if data else {}
    splits = {}
    for entry in data if isinstance(data, list) else ():
        paths = entry.get("path") if isinstance(entry, Mapping) else None
        if paths and isinstance(entry.get("split"), str):
            splits[entry["split"]] = list(map(str, paths if isinstance(paths, list) else [paths]))
    return splits


def _by_names(names: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """From names like `CONFIG/SPLIT-00000-of-00001.parquet`, or `CONFIG/SPLIT/0000.parquet`, as the hub's own
    conversions (`refs/convert/parquet`) are named. In `data` or no folder, CONFIG is `default`.
    """
    by_config: dict[str, dict[str, list[str]]] = {}
    for name in names:
        *folders, file = name.split("/")
        named = _SPLIT.fullmatch(file)
        if named:
            split = named[1]
        elif re.fullmatch(r"\d+\.parquet", file) and folders:
            split = folders.pop()
        else:
            continue
        config = "default" if folders in ([], ["data"]) else "/".join(folders)
        by_config.setdefault(config, {}).setdefault(split, []).append(name)
    return by_config


def _wanted(known: Mapping[str, Any], config: str, where: str) -> list[str]:
    if not known:
        raise UserError(
            f"{where}: no tables ({CARD} names none, and there is no Parquet file named as a split); "
            "code of a repository is never run: lock the hub's conversion, `vouch lock NAME --revision "
            "refs/convert/parquet`, or name its `files`"
        )
    if config == _ALL:
        return sorted(known)
    name = config or (next(iter(known)) if len(known) == 1 else "default")
    if name not in known:
        raise UserError(f"{where}: no config {name:.60}; {did_you_mean(name, list(known))}")
    return [name]


def match(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The names that match a pattern, pattern by pattern, each once.

    `*`, `?` and `[0-9]` stop at a slash, `**` does not, and `**/` also stands for no folder at all. A hidden
    name, or one in a hidden folder (`.cache`, `__pycache__`), needs a pattern that is hidden as well.
    """
    matched: dict[str, None] = {}
    for pattern in (pattern.removeprefix("./") for pattern in patterns):
        parts, hidden = [part for part in _WILD.split(pattern) if part], _hidden(pattern)
        fitting = (name for name in names if _hidden(name) == hidden and _fits(name, parts))
        matched |= dict.fromkeys([pattern] if pattern in names else sorted(fitting))
    return list(matched)


def _hidden(path: str) -> int:
    """How many parts of a path are hidden."""
    *folders, file = path.split("/")
    return sum(folder.startswith((".", "__")) for folder in folders) + file.startswith(".")


def _fits(name: str, parts: Sequence[str]) -> bool:
    """Whether a name matches the parts of a pattern, in time proportional to the product of their lengths."""
    ends = {0}
    for part in parts:
        if part == "**/":
            ends |= {end for end in range(min(ends) + 1, len(name)) if name[end - 1] == "/"}
        elif part == "**":
            ends = set(range(min(ends), len(name) + 1))
        elif part == "*":
            # Of several positions in one folder, the first can reach everything that the others can.
            last = {name.find("/", start) % (len(name) + 1): start for start in sorted(ends, reverse=True)}
            ends = {end for stop, start in last.items() for end in range(start, stop + 1)}
        elif part == "?" or _WILD.fullmatch(part):
            ends = {
                start + 1
                for start in ends
                if name[start : start + 1] not in ("", "/") and fnmatchcase(name[start], part)
            }
        else:
            ends = {start + len(part) for start in ends if name.startswith(part, start)}
        if not ends:
            return False
    return len(name) in ends


# Organisations between which repositories have moved: both are tried, the named one first.
ORGANISATIONS = (("lmms-lab", "lmms-lab-encoder"),)


def fetch_hub(name: str, origin: Origin) -> Fetched:
    """Fetches the chosen files into the store and verifies each. name: the dataset's. Raises UserError."""
    revision = origin.revision or BRANCH
    with one_line(str(origin.hub), revision, f"vouch fetch {name}", f"datasets.{name}.origin"):
        repo, commit, chosen = _chosen(origin, revision)
        for file in chosen:
            try:
                check_name(file)
            except ValueError as error:
                raise UserError(f"{repo}: {error}") from None
        check_room(sum(sibling.size or 0 for sibling in chosen.values()), repo)
        return Fetched(commit, tuple(_kept(repo, commit, file, sibling) for file, sibling in chosen.items()))


def commit_of(name: str, origin: Origin, revision: str) -> str:
    """The commit of a branch or tag, if it has the files that the origin chooses. Raises UserError."""
    with one_line(str(origin.hub), revision, f"vouch lock {name}", f"datasets.{name}.origin"):
        _, commit, _ = _chosen(origin, revision)
        return commit


def same_repositories(repo: str) -> list[str]:
    """The repository, and any that it may have moved to."""
    owner, _, rest = repo.partition("/")
    owners = next((group for group in ORGANISATIONS if owner in group), ())
    return [repo, *(f"{other}/{rest}" for other in owners if other != owner)]


def _info(repo: str, revision: str) -> tuple[str, Any]:
    """The first repository that has the commit, and the hub's information about it."""
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


def _chosen(origin: Origin, revision: str) -> tuple[str, str, dict[str, Any]]:
    """The repository, its commit, and the hub's information about each chosen file."""
    repo, info = _info(str(origin.hub), revision)
    commit = str(info.sha)
    there = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    if origin.split is None:
        names = match(list(there), origin.files)
        missing = next((pattern for pattern in origin.files if not match(names, [pattern])), None)
        if missing:
            raise UserError(f"{repo}: no file {missing} at {commit[:12]}; correct origin.files")
    else:
        card = _download(repo, commit, CARD).read_text("utf-8", "replace") if CARD in there else ""
        names = choose(sorted(there), card, origin.config, origin.split, repo)
    return repo, commit, {name: there[name] for name in names}


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
