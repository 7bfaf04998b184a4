"""Names that were changed, old to new: the one table, and what follows from it.

Whoever renames a key of params.yaml, a command, or another name that people write (a column of a file of
decisions, the code of a variation) adds a line here. Then

- a params.yaml with the old key is refused in one line that gives the new one (vouch/params/check.py),
- `vouch use` and `vouch plan` read profiles with old keys and write new ones (vouch/cli/entries.py),
- an old command is answered with the new one (vouch/cli/main.py),
- every message about an unknown name says what it is called now (`did_you_mean`).
"""

from collections.abc import Iterator, Mapping
from typing import Any

KEYS: dict[str, str] = {
    "embed.pictures": "embed.images",
    "datasets.*.settings.picture": "datasets.*.settings.image",
    "datasets.*.settings.pictures": "datasets.*.settings.images",
}
"""Keys of params.yaml by their path, such as "embed.images": "embed.images". `*` stands for any one name:
"datasets.*.style": "datasets.*.template"."""

COMMANDS: dict[str, str] = {}
"""Commands, such as "sync": "store sync"."""

NAMES: dict[str, str] = {
    "mark": "label",
    "marks": "labels",
    "picture": "image",
    "pictures": "images",
    "--pictures": "--images",
    "correct_without_image": "correct_without_image",
}
"""All other names that people write: columns, variations, scores, options of commands."""


def renamed_keys(values: Any, table: Mapping[str, str] | None = None) -> Iterator[tuple[str, str]]:
    """The old keys in the content of a params file, each with the new one. table: KEYS by default."""
    for old, new in (KEYS if table is None else table).items():
        for path in _paths(values, old.split("."), ()):
            names = iter(name for name, part in zip(path, old.split("."), strict=True) if part == "*")
            yield ".".join(path), ".".join(next(names) if part == "*" else part for part in new.split("."))


def _paths(values: Any, pattern: list[str], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Paths of the keys that fit a pattern."""
    if not pattern:
        yield path
    elif isinstance(values, dict):
        for name in list(values) if pattern[0] == "*" else [pattern[0]]:
            if name in values:
                yield from _paths(values[name], pattern[1:], (*path, str(name)))


def rename_key(document: Any, old: str, new: str) -> bool:
    """Gives a value its new key, in place. If the new key is there already, removes the old one: False.

    document: nested dicts, or what ruamel.yaml read, whose comments and order of keys stay.
    """
    *parents, last = old.split(".")
    *new_parents, new_last = new.split(".")
    level: Any = _level(document, parents)
    position, value = list(level).index(last), level.pop(last)
    target: Any = _level(document, new_parents)
    if not isinstance(target, dict) or new_last in target:
        return False
    comments: Any = getattr(level, "ca", None)  # ruamel.yaml keeps them by key
    if target is level and comments is not None:
        comment = comments.items.pop(last, None)
        mapping: Any = level  # ruamel.yaml's, which knows positions
        mapping.insert(position, new_last, value)
        if comment is not None:
            comments.items[new_last] = comment
    else:
        target[new_last] = value
    return True


def _level(document: Any, path: list[str]) -> Any:
    """What stands at a path; a level that is missing becomes an empty mapping."""
    level = document
    for name in path:
        level = level.setdefault(name, type(document)()) if isinstance(level, dict) else None
    return level
