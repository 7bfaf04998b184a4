"""Categories of a dataset, largest prediction sets first; a category that cannot be calibrated has none."""

from collections.abc import Sequence

from markupsafe import Markup

from vouch.report.claims import representative
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM
from vouch.report.section import Block, Text, by_dataset
from vouch.report.table import MISSING, Cell, Column, Grid, Measured, cells, percent, rounded

TITLE = "Categories"
MEASURES = (("accuracy", ""), ("set_size", "lac"), ("coverage", "lac"))
OF_ALL = (
    Column(
        "Accuracy %, all models",
        f"mean over the models, each counted once, of {MINIMUM} questions or more",
        True,
    ),
    Column("Set size LAC, all models", "likewise, over those that can be calibrated", True),
)


def _mean(evidence: Evidence, dataset: str, category: str, metric: str, score: str = "") -> float | None:
    """Over the models; nothing of fewer than MINIMUM questions."""
    known = [
        number.value
        for model, number in evidence.numbers(dataset, metric, score, category=category).items()
        if number.items >= MINIMUM and (not score or evidence.calibrated(dataset, model, category=category))
    ]
    return sum(known) / len(known) if known else None


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where there are fewer than two categories."""
    categories = evidence.categories(dataset)
    if len(categories) < 2:
        return []
    model = representative(evidence, dataset)
    text = (
        f"Numbers of {model}, beside the mean over all models. Each category is split and calibrated "
        "separately, so the numbers of small categories are imprecise, and where too few questions calibrate "
        "there are no sets."
    )
    measures = [Measured(metric, score, help=f"of {model}") for metric, score in MEASURES]
    columns = (
        Column("Category", "as the source names it"),
        Column("Items", "", True),
        *(each.column for each in measures),
        *OF_ALL,
    )
    rows = [_row(evidence, dataset, category, model, measures) for category in categories]
    rows.sort(key=lambda row: (-(row[3].key or 0), row[0].text))
    return [Text(text), Grid("categories", f"{dataset}: categories, largest sets first", columns, rows)]


def _row(
    evidence: Evidence, dataset: str, category: str, model: str, measures: Sequence[Measured]
) -> list[Cell]:
    accuracy = evidence.number(dataset, model, "accuracy", category=category)
    return cells(
        category,
        accuracy.items if accuracy else MISSING,
        *(each.cell(evidence, dataset, model, category=category) for each in measures),
        percent(_mean(evidence, dataset, category, "accuracy")),
        rounded(_mean(evidence, dataset, category, "set_size", "lac"), 2),
    )


build = by_dataset("Where the models are uncertain", Markup(""), _blocks, opened=1)
