"""Completion in the shell: the script, and the names that the script asks for when TAB is pressed."""

import argparse
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from vouch.cli.command import FILES, Command, argument, command, commands, fill, imported, purpose
from vouch.pipeline.dag import PARAMS
from vouch.pipeline.yaml12 import load

SHELLS = ("bash", "zsh", "fish")
MOST_NAMES = 2000  # a shell takes seconds for more


def _under(values: Any, key: str) -> list[Any]:
    """The names under a key; none if it has no mapping or list, as while somebody edits the file."""
    level = values.get(key) if isinstance(values, dict) else None
    return list(level) if isinstance(level, dict | list) else []


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
    from vouch.pipeline.validation import NAME
    from vouch.tables.asked import ITEMS, items_path

    paths = map(items_path, filter(re.compile(NAME).fullmatch, map(str, _of("datasets"))))
    return (name for path in paths if path.exists() for name in ITEMS.read(path, ["id"])["id"].to_pylist())


NAMES: dict[str, Callable[[], Any]] = {
    "models": lambda: _of("models"),
    "datasets": lambda: _of("datasets"),
    "variations": _variations,
    "sources": lambda: [*_of("datasets"), *_of("models")],
    "profiles": lambda: [path.stem for path in Path("profiles").glob("*.yaml")],
    "items": _items,
}
_PLAIN = re.compile(r"[\w./@:+=,-]+")  # others are left out: bash would expand a `$(...)` in a name


@command(
    "completion",
    "completion in bash, zsh or fish, with the names of models and datasets",
    argument("what", choices=(*SHELLS, *NAMES), help="a shell, or a kind of names"),
)
def run(options: argparse.Namespace) -> int:
    """Print the script that completes commands, options and names in your shell, or the names of one kind.

    Names are looked up when you press TAB: models and datasets in params.yaml, variations there and in
    vouch/prompts/variations, profiles in profiles/, items in data/items.

    Examples:
      vouch completion bash > ~/.local/share/bash-completion/completions/vouch
      vouch completion zsh > ~/.zfunc/_vouch           with `fpath+=~/.zfunc` before compinit in ~/.zshrc
      vouch completion fish > ~/.config/fish/completions/vouch.fish
    """
    if options.what in NAMES:
        names = dict.fromkeys(filter(_PLAIN.fullmatch, map(str, NAMES[options.what]())))
        print("\n".join(islice(names, MOST_NAMES)))
        return 0
    import shtab

    print(shtab.complete(whole_parser(), options.what))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """All commands as one parser; `vouch` itself loads only the one that it runs."""
    parser = argparse.ArgumentParser("vouch")
    top = parser.add_subparsers()
    for group, own in commands().items():
        about = group and purpose(group)
        into = top.add_parser(group, help=about, description=about).add_subparsers() if group else top
        for name, found in own.items():
            _add(into.add_parser(name, help=found.help, description=found.help), imported(found))
    return parser


def _add(parser: argparse.ArgumentParser, command: Command) -> None:
    import shtab

    for action, names in fill(parser, command):
        if names:
            ask = shtab.cmd(f"vouch completion {names} 2>/dev/null")
            action.complete = shtab.FILE if names == FILES else ask  # type: ignore[attr-defined]
