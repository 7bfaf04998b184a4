"""Entry point of the `vouch` command: finds the command, runs it, and turns errors into one line."""

import atexit
import gc
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from vouch.cli.command import Command, Found, Parser, commands, imported, purpose
from vouch.cli.printing import plain, unlimited
from vouch.params.start import check_place
from vouch.pipeline import interruption
from vouch.pipeline.errors import COMMANDS, NO_THREAD, UserError, meant, refused_by_system, without_threads
from vouch.pipeline.terminal import open_streams, warnings_aside

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
  vouch compare scores.csv              the same for a table of scores or logs of others, without a checkout

Numbers:
  accuracy      share of the questions answered correctly
  coverage      share of the prediction sets that contain the correct answer (target: 1 - alpha)
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


def main(argv: list[str] | None = None) -> int:
    """Runs one command, in the checkout that holds the current folder if it needs one; returns the exit
    status."""
    open_streams()
    given = sys.argv[1:] if argv is None else argv
    try:
        interruption.begin()
        _check_text(given)
        command = _find(given)
        if argv is None:  # a process of its own, which has no need to search its modules for cycles
            gc.freeze()
            atexit.register(gc.freeze)  # nor all its objects before it ends
        options = Parser(command).parse_args(given[len(command.name.split()) :])
        if not command.outside(options):
            os.chdir(_checkout())
            check_place()
        with warnings_aside(), unlimited(getattr(options, "wide", False)):
            return int(command.run(options))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return interruption.STATUS
    except SystemExit:
        raise
    except BaseException as error:  # libraries in Rust raise errors that are no Exception
        message = _message(error)
        if message is None:
            raise
        if os.environ.get("VOUCH_TRACEBACK"):
            traceback.print_exc()
        print(f"vouch: {message}", file=sys.stderr)
        return 1


def _find(given: Sequence[str]) -> Command:
    """The command named by the first words. Exits with help, or with one line if they name none."""
    known = commands()
    group = given[0] if given and given[0] in known else ""
    word = next(iter(given[1:] if group else given), "--help")
    if word in known[group]:
        return imported(known[group][word])
    if word in ("-h", "--help"):
        print(_group_help(group, known[group]) if group else _help(known), end="")
        sys.exit(0 if given else 2)
    now = COMMANDS.get(word) or next((f"{name} {word}" for name, own in known.items() if word in own), "")
    if now and not group:
        print(f"vouch: {word} is now `vouch {now}`", file=sys.stderr)
        sys.exit(2)
    hint = meant(word, [*known[group], *([] if group else filter(None, known))])
    prog = f"vouch {group}".rstrip()
    print(f"{prog}: no command {plain(word)[:80]}; {hint}see `{prog} --help`", file=sys.stderr)
    sys.exit(2)


def _help(known: Mapping[str, Mapping[str, Found]]) -> str:
    groups = {}
    for group in filter(None, known):
        about = purpose(group)
        groups[f"{group} {'|'.join(known[group])}"] = f"{about[:1].lower()}{about[1:]}"
    commands = {name: found.help for name, found in known[""].items()}
    return f"{USAGE}\nCommands:\n{_lines(commands)}\nGroups of commands:\n{_lines(groups)}{MORE}"


def _group_help(group: str, own: Mapping[str, Found]) -> str:
    commands = _lines({name: found.help for name, found in own.items()})
    return (
        f"{purpose(group)}.\n\nusage: vouch {group} COMMAND [OPTIONS]\n\nCommands:\n"
        f"{commands}\n`vouch {group} COMMAND --help` explains a command.\n"
    )


def _lines(commands: Mapping[str, str]) -> str:
    """One line for each command, in two columns; a name that is too long goes on a line above."""
    return "".join(
        f"  {name:<12}{about}\n" if len(name) < 12 else f"  {name}\n{'':14}{about}\n"
        for name, about in commands.items()
    )


def _message(error: BaseException) -> str | None:
    """The line to print for an error; None if the error is a bug."""
    if without_threads(error):
        return NO_THREAD
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError):
        problem = refused_by_system(error)
        return plain(problem if "then run it again" in problem else f"{problem}; correct it and try again")
    if isinstance(error, MemoryError):
        return "memory ran out; end other programs, or use a machine with more"
    return None


def _check_text(given: Sequence[str]) -> None:
    """Raises UserError unless all arguments are UTF-8, as tables and messages are."""
    for number, argument in enumerate(given, start=1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UserError(f"argument {number}, {argument[:80]!r}: is not UTF-8; write it so") from None


def _checkout() -> Path:
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "dvc.yaml").is_file() and (folder / "stages").is_dir():
            return folder
    raise UserError(f"{here}: not inside a checkout of Vouch (no dvc.yaml above it); change into one")


if __name__ == "__main__":
    sys.exit(main())
