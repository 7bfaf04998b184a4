"""Show how often each model is right, how certain it is, and whether it is calibrated.

A line for each model, under its dataset, variation and output, the most accurate model first. With --rev
every number is followed by its change since a revision.

Examples:
  vouch show
  vouch show --all                       every column, and answers by likelihood and as text
  vouch show --variations                changed questions and pictures as well
  vouch show --protocol faithful         one split, questions with defects included, as published
  vouch show --rev v1.0                  what changed since a commit, tag or branch
  vouch show --rev v1.0..HEAD            how every model moved over the commits between
"""

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vouch.cli.leaderboard import Cells, cells, compared, headline, named, ordered, small
from vouch.cli.printing import as_json, json_option, long_name, plain, warn_if_outdated
from vouch.pipeline.intact import intact
from vouch.tables.compared import LEADERBOARD, LEADERBOARD_PATH
from vouch.tables.prompts import ORIGINAL

REPORT = Path("reports/index.html")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch show`."""
    parser.add_argument(
        "--protocol", choices=("clean", "faithful"), default="clean", help="default: %(default)s"
    )
    parser.add_argument(
        "--variations", action="store_true", help="all variations, not only the original prompts"
    )
    parser.add_argument("--all", action="store_true", help="all columns")
    other = parser.add_mutually_exclusive_group()
    json_option(other, "all columns, full precision")
    other.add_argument("--rev", help="a commit, tag or branch: what changed since; A..B: how all moved")


def run(options: argparse.Namespace) -> int:
    """Prints the table and where the report is."""
    rows = LEADERBOARD.read(intact(LEADERBOARD_PATH)).to_pylist()
    now = cells(rows, options.protocol, options.variations)
    if options.json:
        print(as_json(named(now)), end="")
    elif options.rev is not None:
        from vouch.cli.history import history, leaderboard_at

        if ".." in options.rev:
            print(history(options.rev, options.protocol, options.variations), end="")
        else:
            then = cells(leaderboard_at(options.rev), options.protocol, options.variations)
            print(f"now, and in brackets what changed since {plain(options.rev)}")
            print(compared(now, then, options.all), end="")
    else:
        print(headline(now, options.all), end="")
        print("".join(f"{plain(dataset)}: {why}.\n" for dataset, why in small(now).items()), end="")
        print(left_out(rows), end="")
        print(undecided(now), end="")
        if REPORT.exists():
            print(f"report: {REPORT}")
        warn_if_outdated()
    return 0


def left_out(rows: Iterable[Mapping[str, Any]]) -> str:
    """A line for each model, dataset and output of these rows of the leaderboard that claims leave out."""
    from vouch.metrics.unranked import unranked
    from vouch.report.left_out import MARK, REMEDY

    away = sorted(unranked(rows), key=lambda place: (place[1], place[0], place[2]))
    lines = [f"{dataset}: {model} {MARK[output]}. {REMEDY[output]}" for model, dataset, output in away]
    return "".join(f"{plain(line)}\n" for line in lines)


def undecided(now: Cells) -> str:
    """Lines on the texts that are undecided or that a judge read: what that does to the accuracy."""
    from vouch.report.judged import of_judge
    from vouch.report.left_out import OF_READING, bounds

    lines = []
    for key in ordered(now):
        dataset, variation, _, model = key
        where = dataset if variation == ORIGINAL else f"{dataset}, {long_name(variation)}"
        values = {name: now[key].get((name, ""), {}).get("value") for name in OF_READING}
        said = [*bounds(values), *of_judge(now[key])]
        lines += [f"{where}: {model}: {one}." for one in said]
    return "".join(f"{plain(line)}\n" for line in lines)
