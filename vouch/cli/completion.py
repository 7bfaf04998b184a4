"""Completion of commands, options and names in the shell: prints the script, or the names of one kind.

Names are looked up when TAB is pressed: models and datasets in params.yaml, variations there and in
vouch/prompts/variations, profiles in profiles/, items in data/items.

Examples:
  vouch completion bash > ~/.local/share/bash-completion/completions/vouch
  vouch completion zsh > ~/.zfunc/_vouch           with `fpath+=~/.zfunc` before compinit in ~/.zshrc
  vouch completion fish > ~/.config/fish/completions/vouch.fish
"""

import argparse
import importlib
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from vouch.pipeline.dag import PARAMS
from vouch.pipeline.validation import NAME
from vouch.pipeline.yaml12 import load

SHELLS = ("bash", "zsh", "fish")
ITEMS = 2000  # ids at most: a shell takes seconds for more


def _under(values: Any, key: str) -> list[Any]:
    """The names under a key; none where what stands there is no mapping or list: it is being edited."""
    found = values.get(key) if isinstance(values, dict) else None
    return list(found) if isinstance(found, dict | list) else []


def _of(key: str) -> list[Any]:
    return _under(load(Path(PARAMS)), key)


def _variations() -> list[Any]:
    from vouch.prompts.variations import declared

    values = load(Path(PARAMS))
    datasets = values.get("datasets") if isinstance(values, dict) else None
    entries = datasets.values() if isinstance(datasets, dict) else ()
    return [
        *_under(values, "variations"),
        *(name for entry in entries for name in _under(entry, "variations")),
        *declared(),
    ]


def _items() -> Iterator[str]:
    from vouch.tables.asked import ITEMS as TABLE
    from vouch.tables.asked import items_path

    paths = map(items_path, filter(re.compile(NAME).fullmatch, map(str, _of("datasets"))))
    return (name for path in paths if path.exists() for name in TABLE.read(path, ["id"])["id"].to_pylist())


NAMES: dict[str, Callable[[], Any]] = {
    "models": lambda: _of("models"),
    "datasets": lambda: _of("datasets"),
    "variations": _variations,
    "sources": lambda: [*_of("datasets"), *_of("models")],
    "profiles": lambda: [path.stem for path in Path("profiles").glob("*.yaml")],
    "items": _items,
}
_PLAIN = re.compile(r"[\w./@:+=,-]+")  # bash expands `$(...)` in the names that it is given
_KINDS = {  # what an argument names, by its own name; those of one command under COMMAND.ARGUMENT
    **dict.fromkeys(("model", "first", "second", "models"), "models"),
    **dict.fromkeys(("dataset", "datasets"), "datasets"),
    **{"variation": "variations", "profile": "profiles", "use.name": "profiles", "item.id": "items"},
    **{"names": "sources", "new.model": ""},
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch completion`."""
    parser.add_argument("what", choices=(*SHELLS, *NAMES), help="a shell, or a kind of names")


def run(options: argparse.Namespace) -> int:
    """Prints the script, or names, one a line."""
    if options.what in NAMES:
        names = dict.fromkeys(filter(_PLAIN.fullmatch, map(str, NAMES[options.what]())))
        print("\n".join(islice(names, ITEMS)))
        return 0
    import shtab

    print(shtab.complete(whole_parser(), options.what))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """All commands as one parser; `vouch` itself loads only the one that it runs."""
    from vouch.cli.main import COMMANDS, GROUPS

    parser = argparse.ArgumentParser("vouch")
    top = parser.add_subparsers()
    for name, about in COMMANDS.items():
        _add(top, name, about, name)
    for group, (about, commands) in GROUPS.items():
        inner = top.add_parser(group, help=about, description=about).add_subparsers()
        for name, said in commands.items():
            _add(inner, name, said, f"{group}.{name}")
    return parser


def _add(into: Any, name: str, about: str, module: str) -> None:
    import shtab

    parser = into.add_parser(name, help=about, description=about)
    importlib.import_module(f"vouch.cli.{module}").arguments(parser)
    for action in parser._actions:
        kind = _KINDS.get(f"{name}.{action.dest}", _KINDS.get(action.dest, ""))
        if kind and not action.choices:
            action.complete = shtab.cmd(f"vouch completion {kind} 2>/dev/null")
        elif getattr(action.type, "__name__", "") in ("file_argument", "_place"):
            action.complete = shtab.FILE
