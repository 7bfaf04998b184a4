"""Which files of a repository are the tables of a configuration and a split, by the hub's own rules.

The README.md of a repository names them in its front matter (`configs`); without that they are found by
their names.

Promise: only the chosen files are fetched, and a hostile card costs no time. `datasets` resolves a card
only against files that are there already, and importing it takes 1.9 s and 170 MiB.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.yaml12 import loads

CARD = "README.md"
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_EVERY = "*"
_WILD = re.compile(r"(\*\*|\*|\?)")
_TABLE = ".parquet"
_LONGEST_FRONT = 1 << 18  # characters; of 26 MB of YAML a process would take minutes
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
        there = [name for name in wanted if one in known[name]]
        if not there or (config != _EVERY and len(there) < len(wanted)):
            splits = sorted({found for name in wanted for found in known[name]})
            raise UserError(f"{where}: no split {one:.60}; {did_you_mean(one, splits)}")
        chosen += [file for name in there for file in _matching(names, known[name][one], where)]
    return chosen


def _named(entries: _Entries) -> dict[str, dict[str, list[str]]]:
    """Configuration -> split -> patterns of file names, as the card has them; empty where it has none."""
    found = {str(entry.get("config_name")): _splits(entry.get("data_files")) for entry in entries}
    return {name: splits for name, splits in found.items() if splits}


def _default(entries: _Entries) -> str:
    """The configuration that the card marks as its default, or empty."""
    return str(next((entry.get("config_name") for entry in entries if entry.get("default") is True), ""))


def _entries(card: str, where: str) -> _Entries:
    """What stands under `configs` in the front matter of a card."""
    front = _FRONT.match(card)
    if front and len(front[1]) > _LONGEST_FRONT:
        raise UserError(
            f"{where}: {CARD} begins with more than {_LONGEST_FRONT:,} characters of metadata, which are not "
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
    """`CONFIG/SPLIT-00000-of-00001.parquet` and the like; the folder `data` and none stand for `default`."""
    found: dict[str, dict[str, list[str]]] = {}
    for name in names:
        folder, _, file = name.rpartition("/")
        match = re.fullmatch(r"([A-Za-z]\w*?)(?:-[\w.-]*)?\.parquet", file)
        if match:
            config = "default" if folder in ("", "data") else folder
            found.setdefault(config, {}).setdefault(match[1], []).append(name)
    return found


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
    found = match(names, patterns)
    if not found:
        raise UserError(f"{where}: no file is named {patterns[0]}; fetch it anew")
    other = next((name for name in found if not name.endswith(_TABLE)), None)
    if other:
        raise UserError(f"{where}: {other} is no {_TABLE} file; name it under `files`")
    return found


def match(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The names that fit a pattern, pattern by pattern, each once: `*` stops at a slash, `**` does not."""
    found: dict[str, None] = {}
    for pattern in patterns:
        parts = [part for part in _WILD.split(pattern.removeprefix("./")) if part]
        found |= dict.fromkeys(sorted(name for name in names if _fits(name, parts)))
    return list(found)


def _fits(name: str, parts: Sequence[str]) -> bool:
    """Whether a name is its parts in a row. Time grows with their product, whatever a card's pattern is."""
    ends = {0}
    for part in parts:
        if part == "**":
            ends = set(range(min(ends), len(name) + 1))
        elif part == "*":
            # Of several places in one folder the first reaches what the others reach. No slash: to the end.
            last = {name.find("/", start) % (len(name) + 1): start for start in sorted(ends, reverse=True)}
            ends = {end for stop, start in last.items() for end in range(start, stop + 1)}
        elif part == "?":
            ends = {start + 1 for start in ends if name[start : start + 1] not in ("", "/")}
        else:
            ends = {start + len(part) for start in ends if name.startswith(part, start)}
        if not ends:
            return False
    return len(name) in ends
