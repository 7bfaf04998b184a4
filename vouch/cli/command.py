"""Commands: how each is declared, and how all are found without importing any.

A command is a function in any file of this folder:

    @command("store pull", "fetch stored results: all, or those of one model", argument("model", nargs="?"))
    def run_pull(options: argparse.Namespace) -> int:
        \"\"\"The text of `vouch store pull --help`; returns the exit status.\"\"\"

If a name has two words, the first is its group: the module of that name, whose docstring says the group's
purpose. Nothing else lists commands, so adding one means adding a file.
"""

import argparse
import ast
import importlib
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from vouch.cli.printing import plain
from vouch.pipeline.errors import did_you_mean, meant

FOLDER = Path(__file__).parent
PACKAGE = "vouch.cli"
FILES = "files"
"""The value of `names` for an argument that is a path."""
Run = Callable[[argparse.Namespace], int]


class Argument(NamedTuple):
    """One argument, as `ArgumentParser.add_argument` takes it.

    names: the kind of names that TAB offers for it: FILES, or a kind of `vouch completion`.
    """

    flags: tuple[str, ...]
    names: str
    settings: Mapping[str, Any]


class OneOf(NamedTuple):
    """Arguments that exclude each other. required: one of them must be given."""

    arguments: tuple[Argument, ...]
    required: bool = False


def argument(*flags: str, names: str = "", **settings: Any) -> Argument:
    """An argument of a command. names: see `Argument`; settings: passed to `ArgumentParser.add_argument`."""
    return Argument(flags, names, settings)


def path_argument(*flags: str, **settings: Any) -> Argument:
    """An argument that names a file or folder, relative to the user's current folder.

    `vouch` changes to the root of the checkout before a command runs, so the path is made absolute.
    """
    return Argument(flags, FILES, {"type": _path, **settings})


def _path(name: str) -> Path:
    if not name:
        raise argparse.ArgumentTypeError("is empty; name a file or folder")
    return Path(name).absolute()


def number(kind: type[int] | type[float], least: float, most: float = math.inf) -> Callable[[str], float]:
    """The `type` of an argument that is a number of `least` to `most`. nan is none, and inf is too much."""

    def read(text: str) -> float:
        try:
            value: float = kind(text)
        except ValueError:
            value = math.nan
        if not (least <= value <= most and math.isfinite(value)):
            whole = "a whole number" if kind is int else "a number"
            up_to = f"of {least:g} or more" if most == math.inf else f"from {least:g} to {most:g}"
            raise argparse.ArgumentTypeError(f"{text[:40]}: give {whole} {up_to}")
        return value

    return read


def one_of(*arguments: Argument, required: bool = False) -> OneOf:
    """Arguments of which at most one may be given, or exactly one."""
    return OneOf(arguments, required)


def json_argument(what: str = "") -> Argument:
    """`--json`, the same for every command."""
    return argument("--json", action="store_true", help=f"for programs{what and f': {what}'}")


def wide_argument() -> Argument:
    """`--wide`, for every command whose tables may be wider than the terminal; `vouch` itself obeys it."""
    return argument(
        "--wide", action="store_true", help="all columns and whole names, wider than the terminal or not"
    )


class Command(NamedTuple):
    """An imported command. help: its line in `vouch --help`. outside: if no checkout is needed."""

    name: str
    help: str
    arguments: tuple[Argument | OneOf, ...]
    run: Run
    outside: Callable[[argparse.Namespace], bool]

    @property
    def text(self) -> str:
        """The text of `--help` above the arguments."""
        return inspect.getdoc(self.run) or ""


_declared: dict[str, Command] = {}


def command(
    name: str,
    help: str,
    *arguments: Argument | OneOf,
    outside: Callable[[argparse.Namespace], bool] = lambda options: False,
) -> Callable[[Run], Run]:
    """Declares the function below it as a command. name and help must be plain strings: `commands` reads them
    from the text of the file. outside: whether it runs outside a checkout, in the present folder, with these
    options."""

    def declare(run: Run) -> Run:
        _declared[name] = Command(name, help, arguments, run, outside)
        return run

    return declare


class Found(NamedTuple):
    """A command that is not yet imported. help: its line in `vouch --help`."""

    name: str
    help: str
    module: str


_DECLARATION = re.compile(r'^@command\(\s*"([a-z ]+)",\s*"([^"\n]+)"', re.MULTILINE)


def commands() -> dict[str, dict[str, Found]]:
    """All commands by group and own name, in alphabetical order; those of one word are in the group "".

    Nothing is imported: the declarations are read from the text of the files.
    """
    found = sorted(
        Found(name, help, ".".join([PACKAGE, *path.relative_to(FOLDER).with_suffix("").parts]))
        for path in FOLDER.rglob("*.py")
        for name, help in _DECLARATION.findall(path.read_text(encoding="utf-8"))
    )
    groups: dict[str, dict[str, Found]] = {"": {}}
    for each in found:
        group, _, own = each.name.rpartition(" ")
        groups.setdefault(group, {})[own] = each
    return groups


def purpose(group: str) -> str:
    """The purpose of a group: the first sentence of its module."""
    text = ast.get_docstring(ast.parse((FOLDER / f"{group}.py").read_text(encoding="utf-8"))) or ""
    return text.partition("\n\n")[0].replace("\n", " ").rstrip(".")


def imported(found: Found) -> Command:
    """Imports the module of a command and returns the command."""
    importlib.import_module(found.module)
    return _declared[found.name]


def fill(parser: argparse.ArgumentParser, command: Command) -> list[tuple[argparse.Action, str]]:
    """Adds the arguments of a command to a parser; returns each with its `names`."""
    added = []
    for each in command.arguments:
        group: Any = parser
        if isinstance(each, OneOf):
            group = parser.add_mutually_exclusive_group(required=each.required)
        for one in each.arguments if isinstance(each, OneOf) else [each]:
            added.append((group.add_argument(*one.flags, **one.settings), one.names))
    return added


class Parser(argparse.ArgumentParser):
    """The parser of one command. Its help keeps paragraphs and indented lines, its errors are one line."""

    def __init__(self, command: Command) -> None:
        super().__init__(f"vouch {command.name}", description=command.text, formatter_class=_Paragraphs)
        fill(self, command)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            hint = did_you_mean(str(value), list(map(str, action.choices)))
            raise argparse.ArgumentError(action, f"no {str(value)[:80]}; {hint}")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses as argparse does, and suggests a name for an unknown option."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            hint = meant(unknown[0], self._option_string_actions).rstrip("; ")
            self.error(f"unknown {unknown[0][:80]}{hint and f', {hint}'}")
        return options

    def error(self, message: str) -> NoReturn:
        """Prints one line and exits with 2."""
        self.exit(2, f"{self.prog}: {plain(message)}; see `{self.prog} --help`\n")


class _Paragraphs(argparse.HelpFormatter):
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip().split("\n\n")
        kept = (part if "\n  " in part else textwrap.fill(part, width) for part in paragraphs)
        return "\n\n".join(kept)
