"""`vouch compare`: two models on the same prompts, or those of a table of scores or of logs."""

import argparse
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy

from vouch.cli.command import argument, command, json_argument, wide_argument
from vouch.cli.compare_screen import screen
from vouch.cli.gate import exit_status, failures, rule, unjudged
from vouch.cli.guessing import guesses
from vouch.cli.leaderboard import (
    OF_LINES,
    Cells,
    Column,
    Row,
    blind_of,
    cells,
    left_out,
    main_outputs,
    over_all,
    small,
    warn_if_outdated,
)
from vouch.cli.printing import as_json
from vouch.metrics.comparison.config import CompareConfig
from vouch.metrics.comparison.statistics import GRAIN, holm, intervals, means
from vouch.params.check import check_project
from vouch.params.project import Project
from vouch.pipeline.errors import UserError, check_name
from vouch.pipeline.records import intact
from vouch.report import gates
from vouch.tables import HEADLINE
from vouch.tables.asked import ITEMS, ORIGINAL, OUTPUTS, items_path, kept_items
from vouch.tables.results import (
    DIFFERENCES,
    DIFFERENCES_PATH,
    LEADERBOARD,
    LEADERBOARD_PATH,
    OUTCOMES,
    outcomes_path,
)

_NO_GAP: dict[str, float | None] = dict.fromkeys(("difference", "low", "high"))
_COLUMNS = (
    *("model", "dataset", "prompt", "group", "variation", "output", "correct", "clean_correct"),
    *(f"clean_size_{score}" for score in HEADLINE),
)


def model_or_file(name: str) -> str | Path:
    """A file as an absolute path, since commands change the folder; a model's name has no dot and stays."""
    path = Path(name)
    return path.absolute() if path.suffix or path.is_file() else name


@command(
    "compare",
    "two models, a table of scores or logs: which is better, and is the difference real",
    argument(
        "first", metavar="A", names="models", type=model_or_file, help="a model of params.yaml, or a file"
    ),
    argument(
        "others",
        metavar="B",
        names="models",
        type=model_or_file,
        nargs="*",
        help="another one; none with a table of scores, any number with logs",
    ),
    argument("--dataset", names="datasets", help="only this dataset"),
    argument(
        "--variation", names="variations", default=ORIGINAL, help="code of a variation (default: %(default)s)"
    ),
    argument("--output", choices=OUTPUTS, help="only this request type"),
    json_argument("all categories, full precision"),
    wide_argument(),
    argument(
        "--fail-if", action="append", default=[], metavar="RULE", help='e.g. "accuracy < -0.02": exit with 3'
    ),
    outside=lambda options: _has_files(options),
)
def run(options: argparse.Namespace) -> int:
    """Compare two models on the same prompts: which is correct more often, and is the difference real?

    A and B are models of params.yaml, or files, for which no checkout is needed: a table of scores (CSV,
    TSV, XLSX or parquet with the columns item, model and score, and prompt, run and group if there are any),
    or logs of lm-evaluation-harness, lmms-eval, Inspect or VLMEvalKit, one of each model. Files give means
    with ranks, paired differences of all models, what the data could have shown, and how much of the variance
    is due to the question, the prompt and the sampling. They take --json and --wide alone. The rest is
    about models.

    It says whether each model is shown to beat guessing, whose prediction sets are smaller, which model is
    better calibrated, which questions only one of them answers correctly, and in which categories they differ
    most. Differences are always A minus B, in the clean protocol.

    p is the one in the report: corrected by Holm's method over all pairs of models on all datasets, and
    clustered by groups of copied questions. Pairs with a blind baseline are corrected over all such pairs;
    the report tests those with the best one of each dataset, and each one against a guess, so its p differs.
    For variations other than `original`, p is for this pair only. The minimum detectable effect is the
    smallest true difference that a study of this size detects with 80 % power.

    --fail-if is a gate for CI. The exit status is 3 if a rule about A minus B holds on any dataset and
    request type that either model has, and 1 if a rule cannot be evaluated on one of them. Rules may name
    accuracy, p, coverage_lac, ece, set_size_lac and set_size_aps; accuracy.low and accuracy.high are the ends
    of the interval, which set sizes have too.

    Examples:
      vouch compare llava_v1_5_7b blip2
      vouch compare llava_v1_5_7b blip2 --dataset mmbench --variation ls_n
      vouch compare llava_v1_5_7b blip2 --json
      vouch compare scores.csv
      vouch compare logs/one.eval logs/other.eval
      vouch compare new old --fail-if "accuracy < -0.02" --fail-if "accuracy < 0 and p < 0.01"
    """
    if _has_files(options):
        from vouch.cli.scores import compared  # loads the library, which models of a checkout do without

        print(compared(_files(options), options.json), end="")
        return 0
    if len(options.others) != 1:
        raise UserError(f"{options.first}: name two models, or a table of scores or logs as files")
    options.second = options.others[0]
    return _of_models(options)


def _of_models(options: argparse.Namespace) -> int:
    """Compares `first` and `second`, both models of params.yaml; the exit status."""
    gate = list(map(rule, options.fail_if))
    project = check_project()
    every = _leaderboard(options)
    rows = [row for row in every if row["variation"] == options.variation]
    entries = _entries(rows, options, project)
    failed, unknown = failures(gate, entries)
    unknown += unjudged(every, entries, options.variation) if gate else []
    categories = by_category(rows, options.first, options.second)
    if options.json:
        named = {"first": options.first, "second": options.second, "variation": options.variation}
        print(as_json({**named, "pairs": entries, "categories": categories}), end="")
    else:
        print(screen(options.first, options.second, entries, categories), end="")
        print(left_out(rows, every), end="")
    warn_if_outdated()
    return exit_status(failed, unknown)


def _entries(rows: Sequence[Row], options: argparse.Namespace, project: Project) -> list[dict[str, Any]]:
    """The entries of `pairs`, with the guess of each. rows: of LEADERBOARD, in the chosen variation.

    Raises UserError if there are none.
    """
    first, second = (_outcomes(name, rows, options) for name in (options.first, options.second))
    if options.variation == ORIGINAL:
        of_lines = over_all(LEADERBOARD.read(intact(LEADERBOARD_PATH)), OF_LINES)
        everyone = cells(of_lines, "clean")
        tested = corrected(DIFFERENCES.read(intact(DIFFERENCES_PATH)).to_pylist(), everyone)
        main, chances = main_outputs(everyone), guesses(of_lines, everyone)
    else:
        tested = differences_in(pa.concat_tables([first, second]), project.compare)
        main, chances = {}, {}
    gaps = oriented(tested, options.first, options.second)
    numbers = cells(rows, "clean", variations=True)
    entries = pairs(first, second, numbers, gaps, project.compare) if len(first) and len(second) else []
    if not entries:
        limits = {"on": options.dataset, "in": options.variation, "as": options.output}
        where = "".join(f" {word} {value}" for word, value in limits.items() if value)
        raise UserError(
            f"{options.first}, {options.second}: no prompt that both answered{where}; `vouch show "
            "--variations` lists what there is"
        )
    for entry in entries:
        guess = chances.get(entry["dataset"]) if main.get(entry["dataset"]) == entry["output"] else None
        entry["guessing"] = guess and {  # whether each is shown to beat it; None if that was not tested
            "chance": guess.chance,
            "first": guess.beaten.get(options.first),
            "second": guess.beaten.get(options.second),
        }
    return entries


def _has_files(options: argparse.Namespace) -> bool:
    return any(isinstance(name, Path) for name in (options.first, *options.others))


def _files(options: argparse.Namespace) -> list[Path]:
    """The files, if nothing else is asked for. Raises UserError."""
    flags = {
        "--dataset": options.dataset,
        "--variation": options.variation != ORIGINAL,
        "--output": options.output,
        "--fail-if": options.fail_if,
    }
    if wrong := next((flag for flag, value in flags.items() if value), None):
        raise UserError(f"{wrong}: is for models of a checkout; files take --json and --wide alone")
    given = [options.first, *options.others]
    if names := [name for name in given if isinstance(name, str)]:
        raise UserError(f"{names[0]}: is no file, but the others are; give files alone, or two models")
    return given


def _leaderboard(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The two models' leaderboard rows, for the chosen dataset and request type. Raises UserError."""
    rows = LEADERBOARD.read(intact(LEADERBOARD_PATH))
    models = [options.first, options.second]
    if options.first == options.second:
        raise UserError(f"{options.first}: is both models; name two different ones")
    asked = [("model", options.first), ("model", options.second), ("variation", options.variation)]
    for column, name in [*asked, ("dataset", options.dataset)]:
        if name is not None:
            known = [each for each in pc.unique(rows[column]).to_pylist() if each]
            check_name(column, name, known, LEADERBOARD_PATH)
    rows = rows.filter(pc.is_in(rows["model"], value_set=pa.array(models)))
    chosen: list[dict[str, Any]] = _chosen(rows, options, ("dataset", "output")).to_pylist()
    return chosen


def _outcomes(model: str, leaderboard: Sequence[Row], options: argparse.Namespace) -> pa.Table:
    """The chosen rows of a model's OUTCOMES, for the datasets in these rows of the leaderboard."""
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


def oriented(rows: Iterable[Row], first: str, second: str) -> dict[tuple[str, str], Row]:
    """The rows of DIFFERENCES between two models by (dataset, output), turned into first minus second."""
    turned = {}
    for row in rows:
        if (row["first"], row["second"]) == (second, first):
            gap, low, high = (
                None if row[key] is None else 0.0 - row[key] for key in ("difference", "high", "low")
            )
            row = {**row, "first": first, "second": second, "difference": gap, "low": low, "high": high}
        if (row["first"], row["second"]) == (first, second):
            turned[row["dataset"], row["output"]] = row
    return turned


def corrected(rows: Sequence[Row], every: Cells) -> list[dict[str, Any]]:
    """Rows of DIFFERENCES with p corrected over all datasets that are large enough, as in the report.

    Only the main request type of each dataset is corrected. every: cells of all models. Each corrected row
    gets `claims`, the number of comparisons that were corrected together. Pairs with a blind baseline are a
    family of their own; that of the report is another (vouch/report/blind.py).
    """
    blind = blind_of(every)
    apart = [(row["dataset"], row["second"]) in blind for row in rows]
    families = [
        [row for row, with_blind in zip(rows, apart, strict=True) if with_blind == which]
        for which in (False, True)
    ]
    return [row for family in families for row in _corrected(family, every)]


def _corrected(rows: Sequence[Row], every: Cells) -> list[dict[str, Any]]:
    """The rows of one family of tests."""
    few = small(every)
    main = main_outputs(every)
    counted = [row["dataset"] not in few and main.get(row["dataset"]) == row["output"] for row in rows]
    p = holm([row["p"] if is_claim else None for row, is_claim in zip(rows, counted, strict=True)])
    claims = sum(each is not None for each in p)
    return [
        dict(row) | ({"p_holm": each, "claims": claims} if each is not None else {})
        for row, each in zip(rows, p, strict=True)
    ]


def differences_in(outcomes: pa.Table, config: CompareConfig) -> list[dict[str, Any]]:
    """Rows of DIFFERENCES for the one variation in the outcomes; the stage has only those of `original`."""
    from vouch.metrics.comparison.leaderboard import differences  # loads pandas, which takes seconds

    index = outcomes.schema.get_field_index("variation")
    renamed = pa.array([ORIGINAL] * outcomes.num_rows, pa.string())
    return differences(outcomes.set_column(index, "variation", renamed), config.seed, config.resamples)


def pairs(
    first: pa.Table,
    second: pa.Table,
    numbers: Cells,
    gaps: Mapping[tuple[str, str], Row],
    config: CompareConfig,
) -> list[dict[str, Any]]:
    """One entry for each dataset and request type that both models have, for JSON.

    first, second: outcomes of the models, in one variation. numbers: cells of both. gaps: the result of
    `oriented`. Entries of datasets that are too small have no p, and no interval of set sizes.
    """
    reasons = small(numbers)
    names = (first["model"][0].as_py(), second["model"][0].as_py())
    entries = []
    lines = sorted({line[:3] for line in numbers}, key=lambda line: (line[0], OUTPUTS.index(line[2])))
    for dataset, variation, output in lines:
        sides = [numbers.get((dataset, variation, output, name)) for name in names]
        if sides[0] is None or sides[1] is None:
            continue
        both = joined(first, second, dataset, output)
        items = len(both[0])
        gap, correct = dict(gaps.get((dataset, output), {})), counts(*both)
        effect = gates.minimum_detectable_effect(gap.get("low"), gap.get("high"), gap.get("claims", 1))
        scores = [score for score in HEADLINE if all(("set_size", score) in side for side in sides if side)]
        sizes = {score: size_gap(*both, f"clean_size_{score}", config) for score in scores}
        if dataset in reasons:
            gap, effect = {**gap, "p": None, "p_holm": None}, None
            correct = correct and {**correct, "mcnemar_p": None}
            sizes = {score: {**of, "low": None, "high": None} for score, of in sizes.items()}
        entries.append(
            {
                "dataset": dataset,
                "variation": variation,
                "output": output,
                "items": items,
                "first": _side(sides[0]),
                "second": _side(sides[1]),
                "accuracy": {key: gap.get(key) for key in (*_NO_GAP, "p", "p_holm")}
                | ({"with_image": gap["items"]} if gap.get("items", items) < items else {}),
                "too_small": reasons.get(dataset, ""),
                "minimum_detectable_effect": effect,
                "counts": correct,
                "set_size": dict.fromkeys(HEADLINE, _NO_GAP) | sizes,
            }
        )
    return entries


def _side(of: Mapping[Column, Row]) -> dict[str, dict[str, float | None]]:
    return {
        f"{metric}_{score}" if score else metric: {
            key: of.get((metric, score), {}).get(key) for key in ("value", "low", "high")
        }
        for metric, score in gates.headline_columns(3)
    }


def joined(first: pa.Table, second: pa.Table, dataset: str, output: str) -> tuple[pa.Table, pa.Table]:
    """The rows of both models for each prompt that both answered and the clean protocol keeps, by group."""

    def own(outcomes: pa.Table) -> pa.Table:
        here = pc.and_(pc.equal(outcomes["dataset"], dataset), pc.equal(outcomes["output"], output))
        return outcomes.filter(pc.and_(here, pc.is_valid(outcomes["clean_correct"])))

    left, right = own(first), own(second)
    at = pc.index_in(left["prompt"], value_set=right["prompt"].combine_chunks())
    left, right = left.filter(pc.is_valid(at)), right.take(at.drop_null())
    order = pc.sort_indices(left, [("group", "ascending"), ("prompt", "ascending")])
    return left.take(order), right.take(order)


def counts(first: pa.Table, second: pa.Table) -> dict[str, float | None] | None:
    """How many prompts each model answered correctly, and McNemar's exact p (1947, binomial).

    This p treats copies of a question as independent. None if answers are neither correct nor wrong.
    """
    a, b = first["correct"], second["correct"]
    if not len(a) or a.null_count or b.null_count:
        return None
    one, other = a.to_numpy().astype(bool), b.to_numpy().astype(bool)
    only = int((one & ~other).sum()), int((~one & other).sum())
    return {
        "both": int((one & other).sum()),
        "first_only": only[0],
        "second_only": only[1],
        "neither": int((~one & ~other).sum()),
        # as scipy.stats.binomtest has it; loading scipy.stats takes longer than all else here
        "mcnemar_p": min(1.0, 2 * float(scipy.special.bdtr(min(only), sum(only), 0.5))),
    }


def size_gap(
    first: pa.Table, second: pa.Table, column: str, config: CompareConfig
) -> dict[str, float | None]:
    """Mean difference of set sizes, over items for which both models have sets. Rows as from `joined`.

    The interval is from a bootstrap over whole groups with fixed thresholds.
    """
    known = pc.and_(pc.is_valid(first[column]), pc.is_valid(second[column]))
    a, b = (side[column].filter(known).to_numpy().astype(float) for side in (first, second))
    if not len(a):
        return _NO_GAP
    codes = np.unique(first["group"].filter(known).to_numpy().astype(str), return_inverse=True)[1]
    sums = np.bincount(codes, np.rint(GRAIN * (a - b))).astype(float)[:, None]
    numbers = np.bincount(codes).astype(float)[:, None]
    largest = GRAIN * max(1, np.max([a, b]) - 1)
    ends = intervals(sums, numbers, config.seed, config.resamples, -largest, largest)
    low, high = (None if math.isnan(bound[0]) else float(bound[0] / GRAIN) for bound in ends)
    return {"difference": float(means(sums, numbers)[0] / GRAIN), "low": low, "high": high}


def by_category(rows: Sequence[Row], first: str, second: str) -> list[dict[str, Any]]:
    """Accuracy by category in the clean protocol, largest difference first. rows: those of LEADERBOARD.

    groups: of the questions in a category; of the questions themselves if the items are not here.
    """
    accuracies: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in rows:
        accuracy = row["metric"] == "accuracy" and row["protocol"] == "clean" and row["value"] is not None
        if accuracy and row["category"] != "all":
            accuracies.setdefault((row["dataset"], row["output"], row["category"]), {})[row["model"]] = row
    groups = {dataset: _groups(dataset) for dataset, *_ in accuracies}
    entries = [
        {
            "dataset": dataset,
            "output": output,
            "category": category,
            "first": of[first]["value"],
            "second": of[second]["value"],
            "difference": of[first]["value"] - of[second]["value"],
            "items": (items := min(of[first]["items"], of[second]["items"])),
            "groups": min(items, groups[dataset].get(category, items)),
        }
        for (dataset, output, category), of in accuracies.items()
        if of.keys() >= {first, second}
    ]
    return sorted(entries, key=lambda each: (-abs(each["difference"]), each["dataset"], each["category"]))


def _groups(dataset: str) -> Counter[str]:
    """By category, the groups of the questions that the clean protocol keeps; empty if the items are not
    here."""
    path = items_path(dataset)
    if not path.exists():
        return Counter()
    kept = kept_items(ITEMS.read(path, ("category", "group", "flags")))
    pairs = kept.group_by(["category", "group"]).aggregate([])
    return Counter(filter(None, pairs["category"].to_pylist()))
