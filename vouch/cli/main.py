"""Entry point of the `vouch` command."""

import argparse
import importlib
import os
import sys
import textwrap
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from vouch.cli.printing import plain
from vouch.params.start import check_place
from vouch.pipeline.errors import (
    NO_THREAD,
    UserError,
    did_you_mean,
    meant,
    refused_by_system,
    without_threads,
)
from vouch.pipeline.terminal import open_streams, warnings_aside

COMMANDS = {
    "new": "begin with your own data and models (writes a profile)",
    "plan": "what would run, and how much it would ask of the models",
    "watch": "how far a run is, how long still, and the last errors",
    "show": "accuracy, coverage, set size and calibration of every model",
    "compare": "two models on the same prompts: which is better, and is the difference real",
    "item": "one question: what every model answered, in every variation",
    "use": "switch to another profile (writes params.yaml)",
    "lock": "pin models and datasets to a commit, or to the digests of their files",
    "fetch": "download the datasets and weights that the profile needs",
    "schema": "write JSON schemas of params.yaml and the like, for editors",
    "completion": "completion in bash, zsh or fish, with the names of models and datasets",
}
GROUPS = {
    "review": (
        "inspect what the pipeline made, and decide by hand where a person must",
        {
            "rewrites": "the reworded questions: accept, reject or replace them",
            "exchange": "which of two pictures wins, so that one can be exchanged to change the answer",
            "judge": "answers that a model judged: say yourself which are correct",
            "distract": "let the rewriter model write wrong options for open questions",
            "render": "write the pictures of a variation as files, to look at",
        },
    ),
    "server": (
        "models that a server answers for",
        {"batch": "write requests as OpenAI's batch files, and read the answers that came of them"},
    ),
    "publish": (
        "write results in the formats of others",
        {
            "export": "a model's answers as a log of lm-evaluation-harness or lmms-eval",
            "card": "a model's results as a section of its model card on the hub",
            "hub": "all tables of the report as a dataset of the hub",
        },
    ),
    "store": (
        "keep results complete, intact and known to both runners",
        {
            "pull": "fetch stored results: all, or those of one model",
            "verify": "read every byte and name what is damaged",
            "prune": "remove the results of an earlier profile",
            "restore": "bring back what was moved to .vouch/unused",
            "sync": "make results known to DVC and Snakemake alike",
            "warm": "ask the models everything at once, loading each only once",
        },
    ),
}
MOVED = {name: group for group, (_, commands) in GROUPS.items() for name in commands}
USAGE = """\
How far can you trust the answers of a vision-language model?

usage: vouch COMMAND [OPTIONS]
"""
MORE = """
Examples:
  vouch new mine --data ../kites --model ../weights/my-model      begin with data and a model of your own
  vouch plan                            before a run: how many prompts, what is still missing
  dvc repro                             run it (or: snakemake --cores 2)
  vouch show                            the results
  vouch compare MODEL_A MODEL_B         the difference, with interval and p-value

Numbers:
  accuracy      share of the questions answered correctly
  coverage      share of the prediction sets that hold the correct answer (target: 1 - alpha)
  set size      mean number of options in a prediction set; smaller is more certain
  UAcc          accuracy, weighted up for small sets and down for large ones
  ECE           expected calibration error: how far stated confidence is from accuracy
  Low letter mass  share of prompts where an answer more probably begins with no option letter
  [low, high]   95 % interval
Full precision, for programs: reports/metrics.json and reports/tables (CSV).

Exit status: 0 success, 1 error, 2 wrong arguments, 3 `compare --fail-if` fails, 130 interrupted
(docs/terminal.md).
`vouch COMMAND --help` explains a command.
"""


class Parser(argparse.ArgumentParser):
    """Help keeps its paragraphs and indented lines; an error is one line."""

    def __init__(self, command: str, about: str | None) -> None:
        super().__init__(f"vouch {command}", description=about, formatter_class=_Paragraphs)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            said = did_you_mean(str(value), list(map(str, action.choices)))
            raise argparse.ArgumentError(action, f"no {str(value)[:80]}; {said}")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does; an unknown option gets the one that may be meant."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            hint = meant(unknown[0], self._option_string_actions).rstrip()
            self.error(f"unknown {unknown[0][:80]}{hint and f', {hint}'}")
        return options

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {plain(message)}; see `{self.prog} --help`\n")


class _Paragraphs(argparse.HelpFormatter):
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = textwrap.dedent(text).strip().split("\n\n")
        kept = (part if "\n  " in part else textwrap.fill(part, width) for part in paragraphs)
        return "\n\n".join(kept)


def main(argv: list[str] | None = None) -> int:
    """Runs one command in the checkout that holds the current folder; returns the exit status."""
    open_streams()
    given = sys.argv[1:] if argv is None else argv
    try:
        _check_text(given)
        words = _command(given)
        module = importlib.import_module(".".join(["vouch.cli", *words]))
        parser = Parser(" ".join(words), module.__doc__)
        module.arguments(parser)
        options = parser.parse_args(given[len(words) :])
        os.chdir(_checkout())
        check_place()
        with warnings_aside():
            return int(module.run(options))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except SystemExit:
        raise
    except BaseException as error:  # a library in Rust raises what is no Exception
        message = _message(error)
        if message is None:
            raise
        if os.environ.get("VOUCH_TRACEBACK"):
            traceback.print_exc()
        print(f"vouch: {message}", file=sys.stderr)
        return 1


def _command(given: Sequence[str]) -> list[str]:
    """The command's words, `show` or `store sync`. Exits with help or one line where there is none."""
    commands: Mapping[str, str] = COMMANDS
    group = given[:1] if given[:1] and given[0] in GROUPS else []
    if group:
        commands = GROUPS[group[0]][1]
    name = next(iter(given[len(group) :]), "--help")
    if name in commands:
        return [*group, name]
    if name in ("-h", "--help"):
        print(_group_help(group[0]) if group else _help(), end="")
        sys.exit(0 if given else 2)
    if name in MOVED and not group:
        print(f"vouch: {name} is now `vouch {MOVED[name]} {name}`", file=sys.stderr)
        sys.exit(2)
    hint = meant(name, [*commands, *([] if group else GROUPS)])
    prog = " ".join(["vouch", *group])
    print(f"{prog}: no command {plain(name)[:80]}; {hint}see `{prog} --help`", file=sys.stderr)
    sys.exit(2)


def _help() -> str:
    groups = {f"{name} {'|'.join(commands)}": about for name, (about, commands) in GROUPS.items()}
    return f"{USAGE}\nCommands:\n{_lines(COMMANDS)}\nFurther commands:\n{_lines(groups)}{MORE}"


def _group_help(group: str) -> str:
    about, commands = GROUPS[group]
    return (
        f"{about[0].upper()}{about[1:]}.\n\nusage: vouch {group} COMMAND [OPTIONS]\n\nCommands:\n"
        f"{_lines(commands)}\n`vouch {group} COMMAND --help` explains a command.\n"
    )


def _lines(commands: Mapping[str, str]) -> str:
    """A line each, in two columns; a name that is too long stands above its line."""
    return "".join(
        f"  {name:<12}{about}\n" if len(name) < 12 else f"  {name}\n{'':14}{about}\n"
        for name, about in commands.items()
    )


def _message(error: BaseException) -> str | None:
    """One line for a person; None for an error that is a bug."""
    if without_threads(error):
        return NO_THREAD
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError):
        said = refused_by_system(error)
        return plain(said if "then run it again" in said else f"{said}; correct it and try again")
    if isinstance(error, MemoryError):
        return "memory ran out; end other programs, or use a machine with more"
    return None


def _check_text(given: Sequence[str]) -> None:
    """Arguments are compared with tables and written into messages: both hold UTF-8."""
    for place, argument in enumerate(given, start=1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UserError(f"argument {place}, {argument[:80]!r}: is not UTF-8; write it so") from None


def _checkout() -> Path:
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "dvc.yaml").is_file() and (folder / "stages").is_dir():
            return folder
    raise UserError(f"{here}: not inside a checkout of Vouch (no dvc.yaml above it); change into one")


if __name__ == "__main__":
    sys.exit(main())
