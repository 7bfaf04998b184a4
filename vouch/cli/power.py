"""Which differences of accuracy the questions of a profile can detect: the table of `vouch plan --power`.

What counts is the number of groups, as in the report's tests: questions about one image, or copies of one
question, are not independent.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import Any

from vouch.cli.counts import Count, Items
from vouch.cli.leaderboard import size_of
from vouch.cli.prices import model_costs
from vouch.cli.printing import Column, paragraphs, table
from vouch.metrics.comparison.statistics import deviation, finds, questions_for
from vouch.metrics.unranked import outputs_of
from vouch.params.project import Project
from vouch.pipeline.errors import UserError
from vouch.pipeline.records import intact
from vouch.report import formatting
from vouch.report.gates import MINIMUM, SIGNIFICANCE
from vouch.tables.results import DIFFERENCES, DIFFERENCES_PATH

POWER_NOTES = (
    "finds: the minimum detectable effect of two models: the smallest true difference that these questions "
    "show with 80 % power (p < {significance:g} after Holm's correction for {claims}); none if it exceeds "
    "the largest possible one, or with fewer than {minimum} groups, on which models are not compared",
    "groups: of questions that are not independent, such as those about one image, in the items of the last "
    "run; without these (?), each question is counted as a group",
    "spread: standard deviation of the difference on a question, its group included (results: median pair of "
    "{path}; assumed: just one of the two is correct on {discordant:.0%} of the questions, {design})",
)
_FORMS = {
    **{"questions": "d", "groups": "d", "from": "", "spread": ".2f", "finds": ".1f", "needed": "d"},
    **{"gpu_hours": ".1f", "needed_gpu_hours": ".1f"},
}
"""The columns of `power`, and their formats on the screen."""


DISCORDANT = 0.2


@dataclass(frozen=True)
class Sought:
    """The difference in accuracy to detect, 0 ... 1, and what is assumed of datasets without results.

    discordant: share of the questions that just one of two models answers correctly. design: the design
    effect of groups; None: a group counts as one question, the worst case.
    """

    difference: float
    discordant: float = DISCORDANT
    design: float | None = None


def sought(options: argparse.Namespace) -> Sought | None:
    """What `--power` asks for; None without it. Raises UserError."""
    assumed = {name: getattr(options, name) for name in ("discordant", "design")}
    given = {name: value for name, value in assumed.items() if value is not None}
    if options.power is None:
        for name in given:
            raise UserError(f"--{name}: is an assumption of --power; add --power, or leave it out")
        return None
    wanted = Sought(options.power / 100, **given)
    if not 0 < wanted.difference < 1 or not 0 < wanted.discordant <= 1:
        raise UserError(
            f"--power {options.power:g}, --discordant {wanted.discordant:g}: out of range; give --power "
            "between 0 and 100 points, and --discordant above 0"
        )
    return wanted


def power(
    project: Project, items: Mapping[str, Items], counts: Mapping[str, Count], wanted: Sought | None
) -> list[dict[str, Any]]:
    """A row for each dataset; none if nothing is sought. Raises UserError.

    groups: None if unknown. finds: the smallest difference that is detected, 0 ... 1; None if it exceeds the
    largest possible one, or if there are fewer than MINIMUM groups. needed: the number of questions, grouped
    as the planned ones, that detects the wanted difference, in at least MINIMUM groups. gpu_hours and
    needed_gpu_hours: for the planned and for the needed questions. All are None if the number of questions is
    unknown.
    """
    if wanted is None:
        return []
    claims, seen, rows = claims_of(project, items), _seen(), []
    for name in project.datasets:
        row: dict[str, Any] = {"dataset": name, "wanted": wanted.difference, **dict.fromkeys(_FORMS)}
        if questions := items[name].count:
            groups, hours = groups_of(name, items[name]), _hours(project, name, counts[name])
            row |= {"questions": questions, "groups": groups, "gpu_hours": hours}
            row |= _detected(wanted, questions, groups or questions, seen.get(name), claims)
            row["needed_gpu_hours"] = hours and hours * row["needed"] / questions
        rows.append(row)
    return rows


def _detected(wanted: Sought, questions: int, groups: int, seen: float | None, claims: int) -> dict[str, Any]:
    """The columns `from`, `spread`, `finds` and `needed` of `power`. seen: the spread in earlier results, if
    there are any. claims: what Holm corrects for."""
    if seen is None and wanted.difference > wanted.discordant:
        raise UserError(
            f"--power {100 * wanted.difference:g}: above {100 * wanted.discordant:g} points, the largest "
            f"difference of two models of which just one is correct on {wanted.discordant:.0%} of the "
            "questions; lower it, or raise --discordant"
        )
    assumed = (wanted.discordant * (wanted.design or questions / groups)) ** 0.5
    spread, largest = (assumed, wanted.discordant) if seen is None else (seen, 1.0)
    effect = finds(questions, spread, SIGNIFICANCE, claims)
    return {
        "from": "assumed" if seen is None else "results",
        "spread": spread,
        "finds": effect if effect <= largest and groups >= MINIMUM else None,
        "needed": max(
            questions_for(wanted.difference, questions, effect), ceil(MINIMUM * questions / groups)
        ),
    }


def power_table(rows: Sequence[Mapping[str, Any]], claims: int, wanted: Sought) -> str:
    """The rows of `power`, at least one, as a table, and the assumptions behind them."""
    points = f"{100 * wanted.difference:g} points"
    columns = [
        Column("dataset", cut=True),
        Column("questions", right=True),
        Column("groups", right=True),
        Column("from", right=True, rank=2),
        Column("spread", right=True, rank=2),
        Column("finds, points", right=True),
        Column(f"for {points}", right=True),
        Column("GPU hours", right=True),
        Column(f"for {points}", right=True),
    ]
    if not any(row["gpu_hours"] for row in rows):
        columns = columns[:-2]
    lines = []
    for row in rows:
        shown = {**row, "finds": row["finds"] and 100 * row["finds"]}
        texts = {key: "?" if shown[key] is None else format(shown[key], form) for key, form in _FORMS.items()}
        if row["finds"] is None and row["questions"]:
            texts["finds"] = "none"
        lines.append([row["dataset"], *texts.values()][: len(columns)])
    values = {
        "significance": SIGNIFICANCE,
        "minimum": MINIMUM,
        "claims": formatting.plural(claims, "comparison"),
        "path": DIFFERENCES_PATH,
        "discordant": wanted.discordant,
        "design": f"design effect {wanted.design:g}" if wanted.design else "each group counted as one",
    }
    return table(columns, lines) + paragraphs(note.format(**values) for note in POWER_NOTES)


def claims_of(project: Project, items: Mapping[str, Items]) -> int:
    """The number of comparisons of two models, over all datasets that are large enough."""
    pairs = len(project.models) * (len(project.models) - 1) // 2
    sizes = (groups_of(name, each) or each.count or 0 for name, each in items.items())
    return max(1, pairs * sum(size >= MINIMUM for size in sizes))


def groups_of(dataset: str, items: Items) -> int | None:
    """The number of groups of the planned questions: their number times the groups per question of the last
    run's items; None without these. What `items` counts may be groups already."""
    if items.groups:
        return items.count
    size = size_of(dataset)
    if not items.count or not size or not size.items:
        return None
    return max(1, round(items.count * size.kept / size.items))


def _seen() -> dict[str, float]:
    """By dataset, the median spread over pairs of models in earlier results, for its main request type."""
    if not DIFFERENCES_PATH.exists():
        return {}
    rows = DIFFERENCES.read(intact(DIFFERENCES_PATH)).to_pylist()
    main = outputs_of(
        (row[side], row["dataset"], row["output"]) for row in rows for side in ("first", "second")
    )
    spreads: dict[str, list[float]] = {}
    for row in rows:
        if row["output"] == main[row["dataset"]][0] and row["low"] is not None and row["low"] < row["high"]:
            spread = deviation(row["low"], row["high"], row["items"])
            spreads.setdefault(row["dataset"], []).append(spread)
    return {name: median(each) for name, each in spreads.items()}


def _hours(project: Project, name: str, count: Count) -> float | None:
    """GPU hours of all hub models on a dataset; None if no model has a known size."""
    asked = model_costs(project, {name: count}, [(model, name) for model in project.models])
    hours = [one["gpu_hours"] for one in asked if one.get("gpu_hours")]
    return sum(hours) if hours else None
