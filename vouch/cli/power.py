"""What `vouch plan --power` prints: the differences that the planned questions find."""

from collections.abc import Mapping
from statistics import median

from vouch.cli.counts import Count, Items, gpu_hours
from vouch.cli.printing import table
from vouch.metrics.comparison.resampling import deviation, finds, questions_for
from vouch.params.project import MODELS, Models, Project
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load
from vouch.report.gates import MINIMUM
from vouch.report.numbers import SIGNIFICANCE
from vouch.tables.compared import DIFFERENCES, DIFFERENCES_PATH
from vouch.tables.prompts import OUTPUTS

SAID = """\
finds: the smallest true difference between two models on the same questions that four of five studies name,
p < {significance:g} after Holm's correction for {claims}; spread: standard deviation of the
difference on a question, its group included (results: median pair of {path};
assumed: just one of the two is right on {discordant:.0%} of the questions, design effect {design:g})
"""


def power(
    project: Project,
    items: Mapping[str, Items],
    counts: Mapping[str, Count],
    wanted: float,
    discordant: float,
    design: float,
) -> str:
    """A line for each dataset. wanted: a difference, 0 ... 1. Raises UserError for a number out of range."""
    if not 0 < wanted < 1 or not 0 < discordant <= 1 or design < 1:
        raise UserError(
            "vouch plan: a number is out of range; give --power between 0 and 100 points, --discordant "
            "between 0 and 1, --design of 1 or more"
        )
    known = {name: found.count for name, found in items.items() if found.count}
    pairs = len(project.models) * (len(project.models) - 1) // 2
    claims = max(1, pairs * sum(count >= MINIMUM for count in known.values()))
    seen, assumed, rows = _seen(), (discordant * design) ** 0.5, []
    for name in project.datasets:
        if name not in known:
            rows.append([name, "?", "", "", "", "?", "", ""])
            continue
        spread = seen.get(name, assumed)
        effect = finds(known[name], spread, SIGNIFICANCE, claims)
        needed = questions_for(wanted, known[name], effect)
        hours = _hours(project, counts[name])
        rows.append([
            *(name, str(known[name]), "results" if name in seen else "assumed", f"{spread:.2f}"),
            f"{100 * effect:.1f}",
            *(str(needed), _said(hours), _said(hours and hours * needed / known[name])),
        ])  # fmt: skip
    points = f"{100 * wanted:g} points"
    head = ["dataset", "questions", "from", "spread", "finds, points", f"for {points}", "GPU hours", points]
    told = SAID.format(
        significance=SIGNIFICANCE,
        claims=f"{claims} comparison{'' if claims == 1 else 's'}",
        path=DIFFERENCES_PATH,
        discordant=discordant,
        design=design,
    )
    return table(head, rows, right=range(1, 8)) + told


def _said(hours: float | None) -> str:
    return "?" if hours is None else f"{hours:.1f}"


def _seen() -> dict[str, float]:
    """By dataset, the spread of the median pair of models that was compared before, of its first output."""
    if not DIFFERENCES_PATH.exists():
        return {}
    found: dict[str, dict[str, list[float]]] = {}
    for row in DIFFERENCES.read(DIFFERENCES_PATH).to_pylist():
        if row["low"] is not None:
            of_output = found.setdefault(row["dataset"], {}).setdefault(row["output"], [])
            of_output.append(deviation(row["low"], row["high"], row["items"]))
    return {name: median(of[min(of, key=OUTPUTS.index)]) for name, of in found.items()}


def _hours(project: Project, count: Count) -> float | None:
    """Of all models of the hub on a dataset; None where none has a known size."""
    models = Models.model_validate(load(MODELS)).models
    extract, found = project.extract, list[float]()
    for name, source in project.models.items():
        size, kind = (models[name].size, models[name].source.kind) if source == str(MODELS) else (None, "")
        if kind == "hub" and size:
            cap = extract.max_tokens_of.get(name, extract.max_tokens)
            found.append(gpu_hours(size, [count], extract, cap, models[name].thought_tokens))
    return sum(found) if found else None
