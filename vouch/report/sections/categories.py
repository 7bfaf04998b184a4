"""Where models are unsure: categories of a dataset, largest prediction sets first."""

from dataclasses import dataclass

from vouch.report.evidence import Evidence
from vouch.report.grid import MISSING, Cell, Column, Grid, figure, whole

TITLE = "Categories"


@dataclass(frozen=True)
class DatasetCategories:
    """model: the one whose numbers stand in the table beside the mean of all."""

    dataset: str
    model: str
    grid: Grid


def build(evidence: Evidence) -> tuple[DatasetCategories, ...]:
    """One part per dataset with at least two categories."""
    wanted = [dataset for dataset in evidence.datasets if len(evidence.categories(dataset)) > 1]
    return tuple(_part(evidence, dataset) for dataset in wanted)


def _mean(evidence: Evidence, dataset: str, category: str, metric: str, score: str) -> float | None:
    numbers = [
        evidence.number(dataset, m, metric, score, category=category) for m in evidence.models(dataset)
    ]
    known = [n.value for n in numbers if n]
    return sum(known) / len(known) if known else None


def _part(evidence: Evidence, dataset: str) -> DatasetCategories:
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
        accuracies = _mean(evidence, dataset, category, "accuracy", "")
        sizes = _mean(evidence, dataset, category, "set_size", "lac")
        rows.append(
            (
                Cell(category),
                whole(accuracy.items) if accuracy else MISSING,
                figure(accuracy, 1, 100),
                figure(evidence.number(dataset, model, "set_size", "lac", category=category), 2),
                figure(evidence.number(dataset, model, "coverage", "lac", category=category), 1, 100),
                MISSING if accuracies is None else Cell(f"{100 * accuracies:.1f}", key=accuracies),
                MISSING if sizes is None else Cell(f"{sizes:.2f}", key=sizes),
            )
        )
    rows.sort(key=lambda row: (-(row[3].key or 0), row[0].text))
    return DatasetCategories(
        dataset, model, Grid("categories", f"{dataset}: categories, largest sets first", columns, rows)
    )
