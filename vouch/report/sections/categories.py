"""Categories of a dataset, largest prediction sets first."""

from markupsafe import Markup

from vouch.report.evidence import Evidence
from vouch.report.section import Part, Section, Text
from vouch.report.table import MISSING, Column, Grid, cells, figure, percent, rounded

TITLE = "Categories"
HEADING = "Where the models are uncertain"


def build(evidence: Evidence) -> Section | None:
    """One part per dataset with at least two categories."""
    parts = [_part(evidence, d) for d in evidence.datasets if len(evidence.categories(d)) > 1]
    return Section(HEADING, Markup(""), parts) if parts else None


def _mean(evidence: Evidence, dataset: str, category: str, metric: str, score: str) -> float | None:
    numbers = [
        evidence.number(dataset, m, metric, score, category=category) for m in evidence.models(dataset)
    ]
    known = [n.value for n in numbers if n]
    return sum(known) / len(known) if known else None


def _part(evidence: Evidence, dataset: str) -> Part:
    model = evidence.leaders(dataset)[0]
    columns = (
        Column("Category", "as the source names it"),
        Column("Items", "", True),
        Column("Accuracy %", f"of {model}", True),
        Column("Set size LAC", f"of {model}", True),
        Column("Coverage LAC %", f"of {model}", True),
        Column("Accuracy %, all models", "mean over the models", True),
        Column("Set size LAC, all models", "mean over the models", True),
    )
    rows = []
    for category in evidence.categories(dataset):
        accuracy = evidence.number(dataset, model, "accuracy", category=category)
        rows.append(
            cells(
                category,
                accuracy.items if accuracy else MISSING,
                figure(accuracy, 1, 100),
                figure(evidence.number(dataset, model, "set_size", "lac", category=category), 2),
                figure(evidence.number(dataset, model, "coverage", "lac", category=category), 1, 100),
                percent(_mean(evidence, dataset, category, "accuracy", "")),
                rounded(_mean(evidence, dataset, category, "set_size", "lac"), 2),
            )
        )
    rows.sort(key=lambda row: (-(row[3].key or 0), row[0].text))
    text = (
        f"Numbers of {model}, beside the mean over all models. Each category is split and calibrated "
        "separately, so the numbers of small categories are imprecise."
    )
    grid = Grid("categories", f"{dataset}: categories, largest sets first", columns, rows)
    return Part(dataset, [Text(text), grid])
