"""Entry point of the `vouch` command."""

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from vouch.cli.layout import plain
from vouch.params.checked import check_place
from vouch.pipeline.errors import NO_THREAD, UserError, without_threads
from vouch.pipeline.terminal import open_streams

COMMANDS = {
    "plan": "what would run: items, prompts, cells, forward passes, stages",
    "show": "the headline table in the terminal, or its change since a revision",
    "compare": "two models on the same prompts: which is better, and whether that is real",
    "item": "one question: what every model answered, in every variation",
    "use": "switch to a profile: validate it, write params.yaml, prune",
    "prune": "remove data and reports that no stage of the present profile makes",
    "sync": "hand over between DVC and Snakemake, refusing what is stale",
    "pull": "fetch versioned results: everything, or what belongs to one model",
    "verify": "read every byte of the results, of DVC's cache or of a remote, and name what is damaged",
    "fetch": "bring the datasets and weights of the present profile to this machine",
    "warm": "ask models everything at once, loading each once; the stages then only write",
    "rewrites": "review the questions in other words, and take people's decisions about them",
    "distract": "have the rewriter write wrong options for open questions, to be reviewed",
    "render": "write the pictures of a variation, to look at",
    "exchange": "say which picture wins, so that one can be exchanged to turn the answer",
    "export": "write a model's answers as a log of lm-evaluation-harness or lmms-eval",
    "card": "a model's results as a section of its model card on the hub",
    "lock": "pin models and datasets: their commits, or the digests of their files",
}

ELSEWHERE = (
    "`vouch COMMAND --help` says more of one. `dvc repro` or `snakemake --cores 2` runs the stages. Numbers "
    "for programs: reports/metrics.json and reports/tables (CSV); exit statuses: docs/terminal.md."
)


def main(argv: list[str] | None = None) -> int:
    """Runs one subcommand in the checkout that holds the current folder; returns the exit status."""
    open_streams()
    parser = argparse.ArgumentParser(
        prog="vouch", description="How far can you trust a VLM's answer?", epilog=ELSEWHERE
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    given = sys.argv[1:] if argv is None else argv
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(name, help=summary)
        if given[:1] == [name]:  # the others need not be imported
            module = importlib.import_module(f"vouch.cli.{name}")
            sub.description = module.__doc__
            module.arguments(sub)
            sub.set_defaults(run=module.run)
    options = parser.parse_args(given)
    try:
        _check_text(given)
        os.chdir(_checkout())
        check_place()
        return int(options.run(options))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except SystemExit:
        raise
    except BaseException as error:  # a library in Rust raises what is no Exception
        told = _told(error)
        if told is None:
            raise
        if os.environ.get("VOUCH_TRACEBACK"):
            traceback.print_exc()
        print(f"vouch: {told}", file=sys.stderr)
        return 1


def _told(error: BaseException) -> str | None:
    """What a person is told of an error that is not a bug; None of one that is."""
    if without_threads(error):
        return NO_THREAD
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError):
        # of a rename both ends are known, and the first is a temporary name of ours
        name = error.filename2 or error.filename
        where = f"{name}: " if name else ""
        return plain(f"{where}{error.strerror or error}; correct it and try again")
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
