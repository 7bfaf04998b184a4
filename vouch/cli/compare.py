"""Two models on the same prompts: which is right more often, whether that is real, which has smaller sets and
which is better calibrated, what one has right and the other has not, and where they differ most. A minus B
throughout, clean protocol."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from vouch.cli.printing import as_json, interval, number, table
from vouch.cli.outdated import tell_outdated
from vouch.cli.paired import by_category, differences_in, oriented, pairs
from vouch.cli.show import cells
from vouch.params.check import check_project
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.intact import intact
from vouch.report.numbers import SIGNIFICANCE
from vouch.tables.compared import DIFFERENCES, DIFFERENCES_PATH, LEADERBOARD, LEADERBOARD_PATH
from vouch.tables.outcomes import OUTCOMES, outcomes_path
from vouch.tables.prompts import ORIGINAL, OUTPUTS

SHOWN = 8  # categories on the screen; --json has all
_COUNTED = (
    *("dataset", "asked", "both", "only A", "only B", "neither", "McNemar p"),
    *("set size A - B (LAC)", "(APS)", "coverage A", "B", "ECE A", "B"),
)
Entry = Mapping[str, Any]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch compare`."""
    parser.add_argument("first", metavar="A", help="slug of a model, as in params.yaml")
    parser.add_argument("second", metavar="B", help="another one")
    parser.add_argument("--dataset", help="only this dataset")
    parser.add_argument("--variation", default=ORIGINAL, help="default: original")
    parser.add_argument("--output", choices=OUTPUTS, help="only this output")
    parser.add_argument("--json", action="store_true", help="for scripts, with every category")


def run(options: argparse.Namespace) -> int:
    """Prints three tables, or JSON."""
    config = check_project().compare
    rows = _standings(options)
    found = cells(rows, "clean", variations=True)
    first, second = (_outcomes(name, options) for name in (options.first, options.second))
    if options.variation == ORIGINAL:
        made = DIFFERENCES.read(intact(DIFFERENCES_PATH)).to_pylist()
    else:
        made = differences_in(pa.concat_tables([first, second]), config)
    compared = oriented(made, options.first, options.second)
    entries = pairs(first, second, found, compared, config) if len(first) and len(second) else []
    if not entries:
        raise UserError(
            f"{options.first}, {options.second}: nothing that both answered{_limits(options)}; `vouch show "
            "--variations` lists what there is"
        )
    clean = [row for row in rows if row["protocol"] == "clean"]
    categories = by_category(clean, options.first, options.second)
    if options.json:
        named = {"first": options.first, "second": options.second, "variation": options.variation}
        print(as_json({**named, "pairs": entries, "categories": categories}), end="")
    else:
        print(screen(options.first, options.second, entries, categories[:SHOWN]), end="")
    tell_outdated()
    return 0


def _limits(options: argparse.Namespace) -> str:
    return "".join(
        f" {word} {value}"
        for word, value in (("on", options.dataset), ("in", options.variation), ("as", options.output))
        if value
    )


def _standings(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Standings of the two models, as the options choose. Raises UserError for an unknown name."""
    leaderboard = LEADERBOARD.read(intact(LEADERBOARD_PATH))
    if options.first == options.second:
        raise UserError(f"{options.first}: is both models; name two different ones")
    for column, wanted in (
        ("model", [options.first, options.second]),
        ("dataset", [options.dataset]),
        ("variation", [options.variation]),
    ):
        known = sorted(name for name in pc.unique(leaderboard[column]).to_pylist() if name)
        for name in wanted:
            if name is not None and name not in known:
                raise UserError(f"{LEADERBOARD_PATH}: no {column} {name}; {did_you_mean(name, known)}")
    leaderboard = leaderboard.filter(
        pc.is_in(leaderboard["model"], value_set=pa.array([options.first, options.second]))
    )
    rows: list[dict[str, Any]] = _chosen(leaderboard, options).to_pylist()
    return rows


def _outcomes(model: str, options: argparse.Namespace) -> pa.Table:
    columns = ("model", "dataset", "prompt", "group", "variation", "output", "correct", "clean_correct")
    sizes = ("clean_size_lac", "clean_size_aps")
    return _chosen(OUTCOMES.read(intact(outcomes_path(model)), [*columns, *sizes]), options)


def _chosen(rows: pa.Table, options: argparse.Namespace) -> pa.Table:
    for column in ("dataset", "variation", "output"):
        wanted = getattr(options, column)
        if wanted is not None:
            rows = rows.filter(pc.equal(rows[column], wanted))
    return rows


def screen(first: str, second: str, entries: Sequence[Entry], categories: Sequence[Entry]) -> str:
    """The tables for a person."""
    text = f"A is {first}, B is {second}; {entries[0]['variation']} prompts, clean protocol\n\n"
    text += "Is one right more often?\n" + table(
        ["dataset", "asked", "items", "A", "B", "A - B", "p", "verdict", "minimum_detectable_effect"],
        [_accuracy(entry) for entry in entries],
        right={2, 3, 4, 5, 6, 8},
    )
    text += (
        "p: after Holm's correction over all pairs of models, clustered by group; of one pair alone for "
        "other variations than original.\ndetectable: the smallest difference that so many items show four "
        "times in five\n\n"
    )
    text += "Which prompts has one right and the other not, and how sure are they?\n" + table(
        _COUNTED,
        [_counted(entry) for entry in entries],
        right=range(2, 13),
    )
    if categories:
        text += "\nWhere do they differ most?\n" + table(
            ["dataset", "asked", "category", "items", "A", "B", "A - B"],
            [
                [
                    *(each["dataset"], each["output"], each["category"], str(each["items"])),
                    *(number(each["first"]), number(each["second"]), f"{each['difference']:+.3f}"),
                ]
                for each in categories
            ],
            right={3, 4, 5, 6},
        )
    return text


def _accuracy(entry: Entry) -> list[str]:
    gap, sides = entry["accuracy"], (entry["first"], entry["second"])
    return [
        *(entry["dataset"], entry["output"], str(entry["items"])),
        *(number(side["accuracy"]["value"]) for side in sides),
        interval(gap, "difference"),
        *(_p(gap["p_holm"]), verdict(gap), number(entry["minimum_detectable_effect"])),
    ]


def verdict(gap: Mapping[str, float | None]) -> str:
    """What the corrected p allows to say."""
    p, difference = gap["p_holm"], gap["difference"]
    if p is None or difference is None:
        return "n.a."
    if p >= SIGNIFICANCE:
        return "not told apart"
    return "A is better" if difference > 0 else "B is better"


def _p(value: float | None) -> str:
    return "n.a." if value is None else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _counted(entry: Entry) -> list[str]:
    found = entry["counts"] or {}
    names = ("both", "first_only", "second_only", "neither")
    sizes = [entry["set_size"][score] for score in ("lac", "aps")]
    return [
        *(entry["dataset"], entry["output"]),
        *(str(found.get(name, "n.a.")) for name in names),
        _p(found.get("mcnemar_p")),
        *(interval(gap, "difference") for gap in sizes),
        *(number(entry[side]["coverage_lac"]["value"]) for side in ("first", "second")),
        *(number(entry[side]["ece"]["value"]) for side in ("first", "second")),
    ]
