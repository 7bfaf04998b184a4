"""`vouch compare`: two models on the same prompts."""

import argparse
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import binomtest

from vouch.cli.command import argument, command, json_argument
from vouch.cli.gate import FAILED, failures, rule
from vouch.cli.printing import (
    as_json,
    check_name,
    interval,
    long_name,
    number,
    plain,
    table,
    warn_if_outdated,
)
from vouch.cli.show import Cells, cells, left_out, small
from vouch.metrics.comparison.config import Config
from vouch.metrics.comparison.leaderboard import GRAIN, differences
from vouch.metrics.comparison.statistics import holm, intervals, means
from vouch.metrics.metric import CLEAN
from vouch.metrics.tables import UNANSWERED
from vouch.metrics.unranked import WORTH_SAYING
from vouch.params.check import check_project
from vouch.pipeline.errors import UserError
from vouch.pipeline.records import intact
from vouch.report.gates import SIGNIFICANCE, minimum_detectable_effect
from vouch.tables import HEADLINE
from vouch.tables.asked import ORIGINAL, OUTPUTS
from vouch.tables.results import (
    DIFFERENCES,
    DIFFERENCES_PATH,
    LEADERBOARD,
    LEADERBOARD_PATH,
    OUTCOMES,
    outcomes_path,
)

_SIDE = (("accuracy", ""), ("coverage", "lac"), ("set_size", "lac"), ("set_size", "aps"), ("ece", ""))
Row = Mapping[str, Any]


def oriented(rows: Iterable[Row], first: str, second: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Rows of DIFFERENCES between two models by (dataset, output), as first minus second."""
    turned = {}
    for row in rows:
        if {row["first"], row["second"]} != {first, second}:
            continue
        own = dict(row)
        if row["first"] != first:
            own |= {"first": first, "second": second, "difference": 0.0 - row["difference"]}
            low, high = row["low"], row["high"]
            own |= {"low": None if high is None else 0.0 - high, "high": None if low is None else 0.0 - low}
        turned[row["dataset"], row["output"]] = own
    return turned


def corrected(rows: Sequence[Row], every: Cells) -> list[dict[str, Any]]:
    """Rows of DIFFERENCES with the p of the report, corrected over all datasets that are large enough.

    Only the first request type of each dataset counts. every: cells of all models. Each corrected row gets
    `claims`, the number of comparisons that were corrected together.
    """
    few = small(every)
    firsts: dict[str, str] = {}
    for dataset, _, output, _ in every:
        firsts[dataset] = min(firsts.get(dataset, output), output, key=OUTPUTS.index)
    counted = [row["dataset"] not in few and firsts.get(row["dataset"]) == row["output"] for row in rows]
    p = holm([row["p"] if counts_too else None for row, counts_too in zip(rows, counted, strict=True)])
    claims = sum(each is not None for each in p)
    return [
        dict(row) | ({"p_holm": each, "claims": claims} if each is not None else {})
        for row, each in zip(rows, p, strict=True)
    ]


def differences_in(outcomes: pa.Table, config: Config) -> list[dict[str, Any]]:
    """Rows of DIFFERENCES for the one variation in the outcomes; the stage makes only those of original."""
    index = outcomes.schema.get_field_index("variation")
    renamed = pa.array([ORIGINAL] * outcomes.num_rows, pa.string())
    return differences(outcomes.set_column(index, "variation", renamed), config.seed, config.resamples)


def pairs(
    first: pa.Table, second: pa.Table, numbers: Cells, gaps: Mapping[tuple[str, str], Row], config: Config
) -> list[dict[str, Any]]:
    """One entry for each dataset and request type that both models have, for JSON.

    first, second: outcomes of the models, in one variation. numbers: cells of both. gaps: what `oriented`
    gives. Entries of datasets that are too small have no p.
    """
    reasons = small(numbers)
    names = (first["model"][0].as_py(), second["model"][0].as_py())
    entries = []
    cells = sorted({line[:3] for line in numbers}, key=lambda cell: (cell[0], OUTPUTS.index(cell[2])))
    for dataset, variation, output in cells:
        sides = [numbers.get((dataset, variation, output, name)) for name in names]
        if sides[0] is None or sides[1] is None:
            continue
        both = joined(first, second, dataset, output)
        gap = gaps.get((dataset, output), {})
        if dataset in reasons:
            gap = {**gap, "p": None, "p_holm": None}
        claims, correct = gap.get("claims", 1), counts(both)
        if correct and dataset in reasons:
            correct["mcnemar_p"] = None
        entries.append(
            {
                "dataset": dataset,
                "variation": variation,
                "output": output,
                "items": len(both),
                "first": _side(sides[0]),
                "second": _side(sides[1]),
                "accuracy": {key: gap.get(key) for key in ("difference", "low", "high", "p", "p_holm")},
                "too_small": reasons.get(dataset, ""),
                "minimum_detectable_effect": None
                if dataset in reasons
                else minimum_detectable_effect(gap.get("low"), gap.get("high"), claims),
                "counts": correct,
                "set_size": {
                    score: size_gap(both, f"clean_size_{score}", config)
                    if all(("set_size", score) in side for side in (sides[0], sides[1]))
                    else dict.fromkeys(("difference", "low", "high"))
                    for score in HEADLINE
                },
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
    """Rows of the prompts that both models answered and the clean protocol keeps; `_b` marks the second."""

    def own(outcomes: pa.Table) -> pd.DataFrame:
        here = pc.and_(pc.equal(outcomes["dataset"], dataset), pc.equal(outcomes["output"], output))
        frame: pd.DataFrame = outcomes.filter(
            pc.and_(here, pc.is_valid(outcomes["clean_correct"]))
        ).to_pandas()
        return frame

    return own(first).merge(own(second), on="prompt", suffixes=("", "_b")).sort_values(["group", "prompt"])


def counts(both: pd.DataFrame) -> dict[str, float | None] | None:
    """How many prompts each model answered correctly, and McNemar's exact p (1947, binomial).

    The p treats copies of a question as independent. None for answers that are neither correct nor wrong.
    """
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
    """Mean difference of set sizes over items that both have sets for.

    The interval is a bootstrap over whole groups that keeps the thresholds.
    """
    gaps = both[column] - both[f"{column}_b"]
    known = gaps.notna().to_numpy()
    if not known.any():
        return {"difference": None, "low": None, "high": None}
    codes, groups = pd.factorize(both["group"][known], sort=True)
    units = np.rint(GRAIN * gaps.to_numpy()[known])
    sums = np.bincount(codes, units, len(groups)).astype(float)[:, None]
    numbers = np.bincount(codes, minlength=len(groups)).astype(float)[:, None]
    largest = GRAIN * max(1, both.loc[known, [column, f"{column}_b"]].to_numpy().max() - 1)
    ends = intervals(sums, numbers, config.seed, config.resamples, -largest, largest)
    low, high = (float(bound[0] / GRAIN) for bound in ends)
    bounds = {"low": None, "high": None} if math.isnan(low) else {"low": low, "high": high}
    return {"difference": float(means(sums, numbers)[0] / GRAIN), **bounds}


def by_category(rows: Sequence[Row], first: str, second: str) -> list[dict[str, Any]]:
    """Accuracy by category in the clean protocol, the largest difference first. rows: of LEADERBOARD."""
    accuracies: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in rows:
        accuracy = row["metric"] == "accuracy" and row["protocol"] == "clean" and row["value"] is not None
        if accuracy and row["category"] != "all":
            accuracies.setdefault((row["dataset"], row["output"], row["category"]), {})[row["model"]] = row
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
        for (dataset, output, category), of in accuracies.items()
        if of.keys() >= {first, second}
    ]
    return sorted(entries, key=lambda each: (-abs(each["difference"]), each["dataset"], each["category"]))


SHOWN = 8  # categories on the screen; --json has all
_COLUMNS = (
    *("model", "dataset", "prompt", "group", "variation", "output", "correct", "clean_correct"),
    *(f"clean_size_{score}" for score in HEADLINE),
)


@command(
    "compare",
    "two models on the same prompts: which is better, and is the difference real",
    argument("first", metavar="A", names="models", help="a model of params.yaml"),
    argument("second", metavar="B", names="models", help="another one"),
    argument("--dataset", names="datasets", help="only this dataset"),
    argument(
        "--variation", names="variations", default=ORIGINAL, help="code of a variation (default: %(default)s)"
    ),
    argument("--output", choices=OUTPUTS, help="only this request type"),
    json_argument("all categories, full precision"),
    argument(
        "--fail-if", action="append", default=[], metavar="RULE", help='e.g. "accuracy < -0.02": exit with 3'
    ),
)
def run(options: argparse.Namespace) -> int:
    """Compare two models on the same prompts: which is correct more often, and is the difference real?

    It also shows whose prediction sets are smaller, which model is better calibrated, which questions only
    one of them answers correctly, and in which categories they differ most. Differences are always A minus B,
    in the clean protocol.

    p is that of the report: corrected by Holm's method over all pairs of models on all datasets, and
    clustered by groups of copied questions. For variations other than `original` it is that of this one pair.
    The minimum detectable effect is the smallest true difference that a study of this size detects with 80 %
    power.

    --fail-if is a gate for CI. The exit status is 3 if a rule about A minus B holds on any dataset and
    request type that either model has, and 1 if a rule cannot be evaluated on one of these. Rules name
    accuracy, p, coverage_lac, ece, set_size_lac and set_size_aps; accuracy.low and accuracy.high are the ends
    of its interval, and set sizes have them too.

    Examples:
      vouch compare llava_v1_5_7b blip2
      vouch compare llava_v1_5_7b blip2 --dataset mmbench --variation ls_n
      vouch compare llava_v1_5_7b blip2 --json
      vouch compare new old --fail-if "accuracy < -0.02" --fail-if "accuracy < 0 and p < 0.01"
    """
    gate = list(map(rule, options.fail_if))
    config = check_project().compare
    every = _leaderboard(options)
    rows = [row for row in every if row["variation"] == options.variation]
    first, second = (_outcomes(name, rows, options) for name in (options.first, options.second))
    if options.variation == ORIGINAL:
        everyone = cells(LEADERBOARD.read(intact(LEADERBOARD_PATH)).to_pylist(), "clean")
        differences_found = corrected(DIFFERENCES.read(intact(DIFFERENCES_PATH)).to_pylist(), everyone)
    else:
        differences_found = differences_in(pa.concat_tables([first, second]), config)
    gaps = oriented(differences_found, options.first, options.second)
    numbers = cells(rows, "clean", variations=True)
    entries = pairs(first, second, numbers, gaps, config) if len(first) and len(second) else []
    if not entries:
        limits = "".join(
            f" {word} {value}"
            for word, value in (("on", options.dataset), ("in", options.variation), ("as", options.output))
            if value
        )
        raise UserError(
            f"{options.first}, {options.second}: no prompt that both answered{limits}; `vouch show "
            "--variations` lists what there is"
        )
    failed, unknown = failures(gate, entries)
    unknown += unjudged(every, entries, options.variation) if gate else []
    categories = by_category(rows, options.first, options.second)
    if options.json:
        named = {"first": options.first, "second": options.second, "variation": options.variation}
        print(as_json({**named, "pairs": entries, "categories": categories}), end="")
    else:
        print(screen(options.first, options.second, entries, categories[:SHOWN]), end="")
        print(left_out(rows), end="")
    warn_if_outdated()
    return _exit_status(failed, unknown)


def _exit_status(failed: Sequence[str], unknown: Sequence[str]) -> int:
    """The exit status of a gate, which says on stderr what fails and what cannot be judged."""
    for line in failed:
        print(f"vouch: fails: {plain(line)}", file=sys.stderr)
    for line in unknown:
        print(f"vouch: cannot judge: {plain(line)}", file=sys.stderr)
    if unknown:
        remedy = "--dataset and --output choose what is judged; `dvc repro` asks the missing prompts"
        print(f"vouch: {remedy}", file=sys.stderr)
    return FAILED if failed else 1 if unknown else 0


def unjudged(every: Sequence[Row], entries: Sequence[Row], variation: str) -> list[str]:
    """A line for each dataset and request type that a gate cannot judge.

    Either only one model has results there, or one left too many prompts unanswered. every: rows of the
    leaderboard, of both models and all variations.
    """
    paired = {(entry["dataset"], entry["output"]) for entry in entries}
    with_original = {row["dataset"] for row in every if row["variation"] == ORIGINAL}
    models: dict[tuple[str, str], set[str]] = {}
    missing = []
    for row in every:
        cell, here = (row["dataset"], row["output"]), row["variation"] == variation
        if here or (variation == ORIGINAL and row["dataset"] not in with_original):
            models.setdefault(cell, set()).add(row["model"])
        whole = (row["metric"], row["protocol"], row["category"]) == (UNANSWERED, CLEAN, "all")
        if here and whole and cell in paired and row["value"] > WORTH_SAYING:
            missing.append((cell, f"{row['model']} left {row['value']:.1%} of the prompts unanswered"))
    for cell, names in models.items():
        if cell not in paired:
            missing.append(
                (cell, f"only {min(names)} has results" if len(names) == 1 else "no results of both")
            )
    where = long_name(variation)
    return [f"{dataset}, {output}, {where}: {what}" for (dataset, output), what in sorted(missing)]


def _leaderboard(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Leaderboard rows of the two models, for the chosen dataset and request type. Raises UserError."""
    rows = LEADERBOARD.read(intact(LEADERBOARD_PATH))
    models = [options.first, options.second]
    if options.first == options.second:
        raise UserError(f"{options.first}: is both models; name two different ones")
    wanted = [
        *(("model", name) for name in models),
        ("dataset", options.dataset),
        ("variation", options.variation),
    ]
    for column, name in wanted:
        if name is not None:
            known = [each for each in pc.unique(rows[column]).to_pylist() if each]
            check_name(column, name, known, LEADERBOARD_PATH)
    rows = rows.filter(pc.is_in(rows["model"], value_set=pa.array(models)))
    chosen: list[dict[str, Any]] = _chosen(rows, options, ("dataset", "output")).to_pylist()
    return chosen


def _outcomes(model: str, leaderboard: Sequence[Mapping[str, Any]], options: argparse.Namespace) -> pa.Table:
    """The chosen rows of OUTCOMES of a model, for the datasets in the leaderboard's rows."""
    empty = pa.schema([OUTCOMES.schema.field(name) for name in _COLUMNS]).empty_table()
    parts = [
        part
        for dataset in sorted({row["dataset"] for row in leaderboard})
        for part in OUTCOMES.rows_with(intact(outcomes_path(dataset)), "model", [model], _COLUMNS)
    ]
    return _chosen(pa.concat_tables([empty, *parts]), options, ("dataset", "variation", "output"))


def _chosen(rows: pa.Table, options: argparse.Namespace, columns: Sequence[str]) -> pa.Table:
    for column in columns:
        wanted = getattr(options, column)
        if wanted is not None:
            rows = rows.filter(pc.equal(rows[column], wanted))
    return rows


def screen(first: str, second: str, entries: Sequence[Row], categories: Sequence[Row]) -> str:
    """The tables for a person."""
    variation = long_name(entries[0]["variation"])
    text = f"A is {first}, B is {second}; prompts: {variation}; clean protocol\n\n"
    head = ["dataset", "output", "items", "A", "B", "A - B", "p", "verdict", "minimum detectable effect"]
    text += "Which is correct more often?\n" + table(head, list(map(_accuracy, entries)), {2, 3, 4, 5, 6, 8})
    head = ["dataset", "output", "both correct", "only A", "only B", "neither", "McNemar p"]
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
        _p(gap["p_holm"]),
        "too small to tell" if entry["too_small"] else verdict(gap),
        number(entry["minimum_detectable_effect"]),
    ]


def verdict(gap: Mapping[str, float | None]) -> str:
    """The verdict that the corrected p allows."""
    p, difference = gap["p_holm"], gap["difference"]
    if p is None or difference is None:
        return "n.a."
    if p >= SIGNIFICANCE:
        return "no significant difference"
    return "A is better" if difference > 0 else "B is better"


def _p(value: float | None) -> str:
    return "n.a." if value is None else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _counts(entry: Row) -> list[str]:
    counts_found = entry["counts"] or {}
    names = ("both", "first_only", "second_only", "neither")
    return [
        *(entry["dataset"], entry["output"]),
        *(str(counts_found.get(name, "n.a.")) for name in names),
        _p(counts_found.get("mcnemar_p")),
        *(interval(entry["set_size"][score], "difference") for score in HEADLINE),
        *(number(entry[side]["coverage_lac"]["value"]) for side in ("first", "second")),
        *(number(entry[side]["ece"]["value"]) for side in ("first", "second")),
    ]
