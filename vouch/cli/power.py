"""What `vouch plan --power` prints: the differences that the planned questions find."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from vouch.cli.counts import Count, Items
from vouch.cli.model_costs import model_costs
from vouch.cli.printing import table
from vouch.metrics.comparison.resampling import deviation, finds, questions_for
from vouch.params.project import Project
from vouch.pipeline.errors import UserError
from vouch.report.gates import MINIMUM
from vouch.report.numbers import SIGNIFICANCE
from vouch.tables.compared import DIFFERENCES, DIFFERENCES_PATH
from vouch.tables.prompts import OUTPUTS

SAID = """\
finds: the smallest true difference between two models on the same questions that four of five studies name,
p < {significance:g} after Holm's correction for {claims}, none where that exceeds the largest possible;
spread: standard deviation of the difference on a question, its group included (results: median pair of
{path}; assumed: just one of the two is right on {discordant:.0%} of the
questions, design effect {design:g})
"""


def power(
    project: Project,
    items: Mapping[str, Items],
    counts: Mapping[str, Count],
    points: float | None,
    discordant: float,
    design: float,
) -> list[dict[str, Any]]:
    """A row for each dataset; none without `points`, a difference of accuracy in per cent. Raises UserError.

    finds: the smallest difference found, 0 ... 1; None where that exceeds the largest possible. needed:
    questions that find the wanted one. gpu_hours and needed_gpu_hours: of the questions planned and of those
    needed. All are None where questions are unknown.
    """
    if points is None:
        return []
    wanted = points / 100
    if not 0 < wanted < 1 or not 0 < discordant <= 1 or design < 1:
        raise UserError(
            "vouch plan: a number is out of range; give --power between 0 and 100 points, --discordant "
            "between 0 and 1, --design of 1 or more"
        )
    known = {name: found.count for name, found in items.items() if found.count}
    claims, seen, rows = _claims(project, items), _seen(), list[dict[str, Any]]()
    for name in project.datasets:
        row = dict.fromkeys(
            ("questions", "from", "spread", "finds", "needed", "gpu_hours", "needed_gpu_hours")
        )
        rows.append({"dataset": name, "wanted": wanted} | row)
        if name in known:
            if name not in seen and wanted > discordant:
                raise UserError(
                    f"--power {points:g}: above {100 * discordant:g} points, the largest difference of two "
                    f"models of which just one is right on {discordant:.0%} of the questions; lower it, or "
                    "raise --discordant"
                )
            spread, largest = (
                (seen[name], 1.0) if name in seen else ((discordant * design) ** 0.5, discordant)
            )
            effect = finds(known[name], spread, SIGNIFICANCE, claims)
            needed, hours = questions_for(wanted, known[name], effect), _hours(project, name, counts[name])
            rows[-1] |= {
                "questions": known[name],
                "from": "results" if name in seen else "assumed",
                "spread": spread,
                "finds": effect if effect <= largest else None,
                "needed": needed,
                "gpu_hours": hours,
                "needed_gpu_hours": hours and hours * needed / known[name],
            }
    return rows


def power_table(
    rows: Sequence[Mapping[str, Any]],
    project: Project,
    items: Mapping[str, Items],
    discordant: float,
    design: float,
) -> str:
    """The rows of `power`, and what they rest on."""
    if not rows:
        return ""
    points = f"{100 * rows[0]['wanted']:g} points"
    head = ["dataset", "questions", "from", "spread", "finds, points", f"for {points}", "GPU hours", points]
    forms = {"questions": "d", "from": "", "spread": ".2f", "finds": ".1f", "needed": "d"}
    forms |= {"gpu_hours": ".1f", "needed_gpu_hours": ".1f"}
    cells = [
        [
            row["dataset"],
            *("?" if row[key] is None else format(row[key], form) for key, form in forms.items()),
        ]
        for row in rows
    ]
    for row, line in zip(rows, cells, strict=True):
        if row["finds"] is not None:
            line[4] = f"{100 * row['finds']:.1f}"
        elif row["questions"]:
            line[4] = "none"
    claims = _claims(project, items)
    told = SAID.format(
        significance=SIGNIFICANCE,
        claims=f"{claims} comparison{'' if claims == 1 else 's'}",
        path=DIFFERENCES_PATH,
        discordant=discordant,
        design=design,
    )
    return table(head, cells, right=range(1, 8)) + told


def _claims(project: Project, items: Mapping[str, Items]) -> int:
    """Comparisons of two models on a dataset that is large enough."""
    pairs = len(project.models) * (len(project.models) - 1) // 2
    return max(1, pairs * sum((found.count or 0) >= MINIMUM for found in items.values()))


def _seen() -> dict[str, float]:
    """By dataset, the spread of the median pair of models that was compared before, of its first output."""
    if not DIFFERENCES_PATH.exists():
        return {}
    found: dict[str, dict[str, list[float]]] = {}
    for row in DIFFERENCES.read(DIFFERENCES_PATH).to_pylist():
        if row["low"] is not None and row["low"] < row["high"]:
            of_output = found.setdefault(row["dataset"], {}).setdefault(row["output"], [])
            of_output.append(deviation(row["low"], row["high"], row["items"]))
    return {name: median(of[min(of, key=OUTPUTS.index)]) for name, of in found.items()}


def _hours(project: Project, name: str, count: Count) -> float | None:
    """Of all models of the hub on a dataset; None where none has a known size."""
    asked = model_costs(project, {name: count}, [(model, name) for model in project.models])
    found = [one["gpu_hours"] for one in asked if one.get("gpu_hours")]
    return sum(found) if found else None
