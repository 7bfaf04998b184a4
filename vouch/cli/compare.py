"""Compare two models on the same prompts: which is right more often, and is the difference real?

Also whose prediction sets are smaller, who is better calibrated, which questions only one of them answers
correctly, and in which categories they differ most. Always A minus B, in the clean protocol.

p is corrected by Holm's method over all pairs of models and clustered by groups of copied questions; for
variations other than `original` it is that of this one pair. The minimum detectable effect is the smallest
true difference that four of five studies of this size would find.

Examples:
  vouch compare llava_v1_5_7b blip2
  vouch compare llava_v1_5_7b blip2 --dataset mmbench --variation ls_n
  vouch compare llava_v1_5_7b blip2 --json
"""

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import binomtest

from vouch.cli.printing import as_json, check_name, interval, long_name, number, table, warn_if_outdated
from vouch.cli.show import Cells, cells
from vouch.metrics.comparison.config import Config
from vouch.metrics.comparison.differences import differences
from vouch.metrics.comparison.resampling import intervals, means
from vouch.metrics.comparison.variations import GRAIN
from vouch.params.check import check_project
from vouch.pipeline.errors import UserError
from vouch.pipeline.intact import intact
from vouch.report.numbers import SIGNIFICANCE, minimum_detectable_effect
from vouch.tables.compared import DIFFERENCES, DIFFERENCES_PATH, LEADERBOARD, LEADERBOARD_PATH
from vouch.tables.outcomes import OUTCOMES, outcomes_path
from vouch.tables.prompts import ORIGINAL, OUTPUTS

SHOWN = 8  # categories on the screen; --json has all
SCORES = ("lac", "aps")
_SIDE = (("accuracy", ""), ("coverage", "lac"), ("set_size", "lac"), ("set_size", "aps"), ("ece", ""))
_COLUMNS = (
    *("model", "dataset", "prompt", "group", "variation", "output", "correct", "clean_correct"),
    *("clean_size_lac", "clean_size_aps"),
)
Row = Mapping[str, Any]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch compare`."""
    parser.add_argument("first", metavar="A", help="a model, as params.yaml names it")
    parser.add_argument("second", metavar="B", help="another one")
    parser.add_argument("--dataset", help="only this dataset")
    parser.add_argument("--variation", default=ORIGINAL, help="code of a variation (default: %(default)s)")
    parser.add_argument("--output", choices=OUTPUTS, help="only this output")
    parser.add_argument("--json", action="store_true", help="for programs: all categories, full precision")


def run(options: argparse.Namespace) -> int:
    """Prints three tables, or JSON."""
    config = check_project().compare
    rows = _leaderboard(options)
    first, second = (
        _chosen(OUTCOMES.read(intact(outcomes_path(name)), list(_COLUMNS)), options)
        for name in (options.first, options.second)
    )
    if options.variation == ORIGINAL:
        tested = DIFFERENCES.read(intact(DIFFERENCES_PATH)).to_pylist()
    else:
        tested = differences_in(pa.concat_tables([first, second]), config)
    gaps = oriented(tested, options.first, options.second)
    found = cells(rows, "clean", variations=True)
    entries = pairs(first, second, found, gaps, config) if len(first) and len(second) else []
    if not entries:
        limits = "".join(
            f" {word} {value}"
            for word, value in (("on", options.dataset), ("in", options.variation), ("as", options.output))
            if value
        )
        raise UserError(
            f"{options.first}, {options.second}: nothing that both answered{limits}; `vouch show "
            "--variations` lists what there is"
        )
    categories = by_category(rows, options.first, options.second)
    if options.json:
        named = {"first": options.first, "second": options.second, "variation": options.variation}
        print(as_json({**named, "pairs": entries, "categories": categories}), end="")
    else:
        print(screen(options.first, options.second, entries, categories[:SHOWN]), end="")
    warn_if_outdated()
    return 0


def _leaderboard(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows of the two models, as the options choose. Raises UserError for an unknown name."""
    rows = LEADERBOARD.read(intact(LEADERBOARD_PATH))
    models = [options.first, options.second]
    if options.first == options.second:
        raise UserError(f"{options.first}: is both models; name two different ones")
    for column, wanted in (
        ("model", models),
        ("dataset", [options.dataset]),
        ("variation", [options.variation]),
    ):
        known = [name for name in pc.unique(rows[column]).to_pylist() if name]
        for name in filter(None, wanted):
            check_name(column, name, known, LEADERBOARD_PATH)
    rows = rows.filter(pc.is_in(rows["model"], value_set=pa.array(models)))
    found: list[dict[str, Any]] = _chosen(rows, options).to_pylist()
    return found


def _chosen(rows: pa.Table, options: argparse.Namespace) -> pa.Table:
    for column in ("dataset", "variation", "output"):
        wanted = getattr(options, column)
        if wanted is not None:
            rows = rows.filter(pc.equal(rows[column], wanted))
    return rows


def oriented(rows: Iterable[Row], first: str, second: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Rows of DIFFERENCES between two models by (dataset, output), as first minus second."""
    found = {}
    for row in rows:
        if {row["first"], row["second"]} != {first, second}:
            continue
        own = dict(row)
        if row["first"] != first:
            own |= {"first": first, "second": second, "difference": 0.0 - row["difference"]}
            low, high = row["low"], row["high"]
            own |= {"low": None if high is None else 0.0 - high, "high": None if low is None else 0.0 - low}
        found[row["dataset"], row["output"]] = own
    return found


def differences_in(outcomes: pa.Table, config: Config) -> list[dict[str, Any]]:
    """Rows of DIFFERENCES for the one variation that the outcomes hold; the stage makes those of original."""
    place = outcomes.schema.get_field_index("variation")
    renamed = pa.array([ORIGINAL] * outcomes.num_rows, pa.string())
    return differences(outcomes.set_column(place, "variation", renamed), config.seed, config.resamples)


def pairs(
    first: pa.Table, second: pa.Table, found: Cells, gaps: Mapping[tuple[str, str], Row], config: Config
) -> list[dict[str, Any]]:
    """One entry for each dataset and output that both models have, as JSON has it.

    first, second: outcomes of the models, of one variation. found: cells of both. gaps: `oriented`.
    """
    names = (first["model"][0].as_py(), second["model"][0].as_py())
    entries = []
    for place in sorted({line[:3] for line in found}, key=lambda one: (one[0], OUTPUTS.index(one[2]))):
        sides = [found.get((*place, name)) for name in names]
        if sides[0] is None or sides[1] is None:
            continue
        dataset, variation, output = place
        both = joined(first, second, dataset, output)
        gap = gaps.get((dataset, output), {})
        entries.append(
            {
                "dataset": dataset,
                "variation": variation,
                "output": output,
                "items": len(both),
                "first": _side(sides[0]),
                "second": _side(sides[1]),
                "accuracy": {key: gap.get(key) for key in ("difference", "low", "high", "p", "p_holm")},
                "minimum_detectable_effect": minimum_detectable_effect(gap.get("low"), gap.get("high")),
                "counts": counts(both),
                "set_size": {score: size_gap(both, f"clean_size_{score}", config) for score in SCORES},
            }
        )
    return entries


def _side(of: Mapping[tuple[str, str], Row]) -> dict[str, dict[str, float | None]]:
    return {
        f"{metric}_{score}" if score else metric: {
            key: of.get((metric, score), {}).get(key) for key in ("value", "low", "high")
        }
        for metric, score in _SIDE
    }


def joined(first: pa.Table, second: pa.Table, dataset: str, output: str) -> pd.DataFrame:
    """Rows of the prompts that both models answered and that the clean protocol keeps; `_b` is the second."""

    def own(outcomes: pa.Table) -> pd.DataFrame:
        here = pc.and_(pc.equal(outcomes["dataset"], dataset), pc.equal(outcomes["output"], output))
        frame: pd.DataFrame = outcomes.filter(
            pc.and_(here, pc.is_valid(outcomes["clean_correct"]))
        ).to_pandas()
        return frame

    return own(first).merge(own(second), on="prompt", suffixes=("", "_b")).sort_values(["group", "prompt"])


def counts(both: pd.DataFrame) -> dict[str, float] | None:
    """How many prompts which of the models has right, and McNemar's exact p (1947, binomial), which takes
    copies of a question for independent; None for answers that are neither right nor wrong."""
    if both.empty or both["correct"].isna().any() or both["correct_b"].isna().any():
        return None
    first, second = both["correct"].to_numpy(bool), both["correct_b"].to_numpy(bool)
    only = int((first & ~second).sum()), int((~first & second).sum())
    return {
        "both": int((first & second).sum()),
        "first_only": only[0],
        "second_only": only[1],
        "neither": int((~first & ~second).sum()),
        "mcnemar_p": float(binomtest(min(only), sum(only)).pvalue) if sum(only) else 1.0,
    }


def size_gap(both: pd.DataFrame, column: str, config: Config) -> dict[str, float | None]:
    """Mean difference of set sizes over items that both have sets for; bootstrap over whole groups, with
    the thresholds as they are."""
    gaps = both[column] - both[f"{column}_b"]
    known = gaps.notna().to_numpy()
    if not known.any():
        return {"difference": None, "low": None, "high": None}
    codes, groups = pd.factorize(both["group"][known], sort=True)
    units = np.rint(GRAIN * gaps.to_numpy()[known])
    sums = np.bincount(codes, units, len(groups)).astype(float)[:, None]
    numbers = np.bincount(codes, minlength=len(groups)).astype(float)[:, None]
    low, high = (float(bound[0] / GRAIN) for bound in intervals(sums, numbers, config.seed, config.resamples))
    bounds = {"low": None, "high": None} if math.isnan(low) else {"low": low, "high": high}
    return {"difference": float(means(sums, numbers)[0] / GRAIN), **bounds}


def by_category(rows: Sequence[Row], first: str, second: str) -> list[dict[str, Any]]:
    """Accuracy by category, clean protocol, the largest difference first. rows: of LEADERBOARD."""
    places: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in rows:
        accuracy = row["metric"] == "accuracy" and row["protocol"] == "clean" and row["value"] is not None
        if accuracy and row["category"] != "all":
            places.setdefault((row["dataset"], row["output"], row["category"]), {})[row["model"]] = row
    entries = [
        {
            "dataset": dataset,
            "output": output,
            "category": category,
            "first": of[first]["value"],
            "second": of[second]["value"],
            "difference": of[first]["value"] - of[second]["value"],
            "items": min(of[first]["items"], of[second]["items"]),
        }
        for (dataset, output, category), of in places.items()
        if of.keys() >= {first, second}
    ]
    return sorted(entries, key=lambda each: (-abs(each["difference"]), each["dataset"], each["category"]))


def screen(first: str, second: str, entries: Sequence[Row], categories: Sequence[Row]) -> str:
    """The tables for a person."""
    variation = long_name(entries[0]["variation"])
    text = f"A is {first}, B is {second}; prompts: {variation}; clean protocol\n\n"
    head = ["dataset", "output", "items", "A", "B", "A - B", "p", "verdict", "minimum detectable effect"]
    text += "Is one right more often?\n" + table(head, list(map(_accuracy, entries)), {2, 3, 4, 5, 6, 8})
    head = ["dataset", "output", "both right", "only A", "only B", "neither", "McNemar p"]
    head += ["set size A - B (LAC)", "(APS)", "coverage A", "B", "ECE A", "B"]
    text += "\nWhich questions does only one answer correctly, and how certain are they?\n"
    text += table(head, list(map(_counts, entries)), range(2, 13))
    if categories:
        lines = [
            [
                *(each["dataset"], each["output"], each["category"], str(each["items"])),
                *(number(each["first"]), number(each["second"]), f"{each['difference']:+.3f}"),
            ]
            for each in categories
        ]
        head = ["dataset", "output", "category", "items", "A", "B", "A - B"]
        text += "\nWhere do they differ most?\n" + table(head, lines, {3, 4, 5, 6})
    return text


def _accuracy(entry: Row) -> list[str]:
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
        return "no significant difference"
    return "A is better" if difference > 0 else "B is better"


def _p(value: float | None) -> str:
    return "n.a." if value is None else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _counts(entry: Row) -> list[str]:
    found = entry["counts"] or {}
    names = ("both", "first_only", "second_only", "neither")
    return [
        *(entry["dataset"], entry["output"]),
        *(str(found.get(name, "n.a.")) for name in names),
        _p(found.get("mcnemar_p")),
        *(interval(entry["set_size"][score], "difference") for score in SCORES),
        *(number(entry[side]["coverage_lac"]["value"]) for side in ("first", "second")),
        *(number(entry[side]["ece"]["value"]) for side in ("first", "second")),
    ]
