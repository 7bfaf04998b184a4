"""Results: for each dataset the headline table and figures; other sections have what else was measured."""

from dataclasses import dataclass, replace

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.grid import MISSING, Cell, Column, Grid, figure, ranges
from vouch.report.numbers import Number
from vouch.report.sections.differences import said_detectable
from vouch.report.tables.headline import METRICS
from vouch.tables.outcomes import UNPARSED

TITLE = "Results"

# label, help, decimals, scale
SHOWN = {
    "accuracy": ("Accuracy %", "share of right answers", 1, 100.0),
    "coverage_lac": ("Coverage LAC %", "share of LAC sets that hold the answer", 1, 100.0),
    "coverage_aps": ("Coverage APS %", "share of APS sets that hold the answer", 1, 100.0),
    "set_size_lac": ("Set size LAC", "mean number of options in a LAC set", 2, 1.0),
    "set_size_aps": ("Set size APS", "mean number of options in an APS set", 2, 1.0),
    "uacc": (
        "UAcc",
        "accuracy times the root of the number of options over set size, mean of both scores",
        2,
        1.0,
    ),
    "ece": ("ECE %", "expected calibration error", 1, 100.0),
}
FIGURES = ("accuracy_and_set_size", "coverage")


@dataclass(frozen=True)
class DatasetResults:
    """warnings: sentences a reader must see before the table. detectable: which differences so many items
    tell. figures: names of the figures to show."""

    dataset: str
    warnings: tuple[str, ...]
    minimum_detectable_effect: str
    headline: Grid
    figures: tuple[str, ...] = FIGURES


@dataclass(frozen=True)
class Results:
    """overview: models by datasets, where there are several datasets."""

    overview: Grid | None
    datasets: tuple[DatasetResults, ...]


def build(evidence: Evidence) -> Results:
    """All results of the clean protocol."""
    parts = tuple(
        DatasetResults(
            dataset,
            _warnings(evidence, dataset),
            said_detectable(evidence, dataset).strip(),
            _headline(evidence, dataset),
        )
        for dataset in evidence.datasets
    )
    return Results(_overview(evidence) if len(evidence.datasets) > 1 else None, parts)


def _headline(evidence: Evidence, dataset: str) -> Grid:
    models = evidence.models(dataset)
    leaders = evidence.leaders(dataset)
    columns = [Column("Model"), Column("Rank", "by accuracy: the ranks that the intervals allow", True)]
    columns += [Column(label, note, True) for label, note, _, _ in SHOWN.values()]
    accuracies = [evidence.number(dataset, model, "accuracy") for model in models]
    drawings = ranges(accuracies)
    rows = []
    for model, accuracy, drawing in zip(models, accuracies, drawings, strict=True):
        row = [Cell(model, tone="strong" if model in leaders else ""), _rank(accuracy)]
        for name, (_, _, digits, scale) in SHOWN.items():
            metric, score = METRICS[name]
            cell = figure(evidence.number(dataset, model, metric, score), digits, scale)
            if name == "accuracy":
                cell = replace(cell, range=drawing)
            row.append(cell)
        rows.append(row)
    caption = (
        f"{dataset}: clean protocol, 95{formatting.NARROW}% intervals in small print, best accuracy first"
    )
    return Grid("headline", caption, columns, rows)


def _rank(number: Number | None) -> Cell:
    if number is None or number.rank is None:
        return MISSING
    return Cell(formatting.ranks(number.rank_low, number.rank_high), key=number.rank)


def _warnings(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    outcomes = evidence.plain_outcomes(dataset)
    silent = outcomes["predicted"].isna() & outcomes["parser"].isna()
    lost = outcomes[silent | (outcomes["parser"] == UNPARSED)].groupby("model").size()
    said = [
        f"{model} gave no answer that could be read to {formatting.plural(int(number), 'prompt')}."
        for model, number in lost.items()
    ]
    for model in evidence.models(dataset):
        number = evidence.number(dataset, model, "infinite_threshold_rate")
        if number and number.value > 0:
            said.append(
                f"Too few rows calibrate {model} in {formatting.percent(number.value, 0)} of the splits: "
                "sets then hold every option."
            )
    return tuple(said)


def _overview(evidence: Evidence) -> Grid:
    """Accuracy on every dataset and its mean over the datasets, for models that answered all of them."""
    datasets = evidence.datasets
    columns = [Column("Model"), *(Column(name, "accuracy in per cent", True) for name in datasets)]
    columns.append(
        Column("Mean", "over the datasets, each counted once; only where there are all of them", True)
    )
    models = evidence.all_models
    uaccs = {m: [evidence.number(dataset, m, "uacc", "mean") for dataset in datasets] for m in models}
    sure = any(all(numbers) for numbers in uaccs.values())
    if sure:
        columns.append(Column("Mean UAcc", "likewise", True))
    rows = []
    for model in models:
        numbers = [evidence.number(dataset, model, "accuracy") for dataset in datasets]
        mean = _mean(numbers, 1, 100)
        row = [Cell(model), *(figure(n, 1, 100) for n in numbers), mean]
        rows.append([*row, _mean(uaccs[model], 2, 1)] if sure else row)
    place = len(datasets) + 1
    rows.sort(key=lambda row: -(row[place].key or 0))
    return Grid("overview", "Accuracy on every dataset", columns, rows)


def _mean(numbers: list[Number | None], digits: int, scale: float) -> Cell:
    known = [n.value for n in numbers if n is not None]
    if len(known) < len(numbers):
        return MISSING
    mean = sum(known) / len(known)
    return Cell(formatting.number(scale * mean, digits), key=mean)
