"""Which differences of accuracy the questions of a profile can detect: the table of `vouch plan --power`.

What counts is the number of groups, as in the report's tests: questions about one image, or copies of one
question, are not independent.
"""

import argparse
from collections.abc import Mapping, Sequence
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


def power(
    project: Project,
    items: Mapping[str, Items],
    counts: Mapping[str, Count],
    points: float | None,
    discordant: float,
    design: float | None,
) -> list[dict[str, Any]]:
    """A row for each dataset; none without `points`, a difference in accuracy in per cent. Raises UserError.

    design: None: a group counts as one question, the worst case. groups: None if unknown. finds: the smallest
    difference that is detected, 0 ... 1; None if it exceeds the largest possible one, or if there are fewer
    than MINIMUM groups. needed: the number of questions, grouped as the planned ones, that detects the wanted
    difference, in at least MINIMUM groups. gpu_hours and needed_gpu_hours: for the planned and for the needed
    questions. All are None if the number of questions is unknown.
    """
    if points is None:
        return []
    wanted = points / 100
    if not 0 < wanted < 1 or not 0 < discordant <= 1 or (design or 1) < 1:
        raise UserError(
            f"--power {points:g}, --discordant {discordant:g}: out of range; give --power between "
            "0 and 100 points, --discordant between 0 and 1, --design of 1 or more"
        )
    claims, seen, rows = claims_of(project, items), _seen(), []
    for name in project.datasets:
        row: dict[str, Any] = {"dataset": name, "wanted": wanted, **dict.fromkeys(_FORMS)}
        rows.append(row)
        questions = items[name].count
        if not questions:
            continue
        if name not in seen and wanted > discordant:
            raise UserError(
                f"--power {points:g}: above {100 * discordant:g} points, the largest difference of two "
                f"models of which just one is correct on {discordant:.0%} of the questions; lower it, or "
                "raise --discordant"
            )
        known = groups_of(name, items[name])
        groups = known or questions
        assumed = (discordant * (design or questions / groups)) ** 0.5
        spread, largest = (seen[name], 1.0) if name in seen else (assumed, discordant)
        effect = finds(questions, spread, SIGNIFICANCE, claims)
        needed = max(questions_for(wanted, questions, effect), ceil(MINIMUM * questions / groups))
        hours = _hours(project, name, counts[name])
        row |= {
            "questions": questions,
            "groups": known,
            "from": "results" if name in seen else "assumed",
            "spread": spread,
            "finds": effect if effect <= largest and groups >= MINIMUM else None,
            "needed": needed,
            "gpu_hours": hours,
            "needed_gpu_hours": hours and hours * needed / questions,
        }
    return rows


def power_table(rows: Sequence[Mapping[str, Any]], claims: int, options: argparse.Namespace) -> str:
    """The rows of `power`, at least one, as a table, and the assumptions behind them."""
    points = f"{100 * rows[0]['wanted']:g} points"
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
        "discordant": options.discordant,
        "design": f"design effect {options.design:g}" if options.design else "each group counted as one",
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
    rows = DIFFERENCES.read(DIFFERENCES_PATH).to_pylist()
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
