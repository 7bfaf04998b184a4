"""Results: for each dataset the headline table and figures; other sections have what else was measured."""

from dataclasses import replace

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.numbers import Number
from vouch.report.section import Block, Figures, Part, Section, Text, folding
from vouch.report.sections.differences import said_detectable
from vouch.report.table import (
    MISSING,
    Cell,
    Column,
    Grid,
    Measured,
    Row,
    TableSpec,
    figure,
    ranges,
    rounded,
)
from vouch.tables.outcomes import UNPARSED

TITLE = "Results"

HEADING = "Results"
TEXT = Markup("""\
Clean protocol: copies of a question stay on one side of every split, and numbers have intervals. Ranks are
those that the intervals allow: <em>1–3</em> means that any of the three is possible. Paired comparisons on
the same questions (<em>Ranking</em>) separate more models; those in bold are not significantly worse than
the best. Click a heading to sort. All numbers of whole datasets are in
<a href="../tables/metrics.csv">tables/metrics.csv</a>, those of categories and of thresholds by stratum in
<code>data/compare/leaderboard.parquet</code>.""")
TABLE = TableSpec(
    "headline",
    f"clean protocol, 95{formatting.NARROW}% intervals in small print, best accuracy first",
    (Column("Model"), Column("Rank", "by accuracy: the ranks that the intervals allow", True)),
    (
        Measured("accuracy"),
        Measured("coverage", "lac", help="share of LAC sets that contain the answer"),
        Measured("coverage", "aps", help="share of APS sets that contain the answer"),
        Measured("set_size", "lac"),
        Measured("set_size", "aps"),
        Measured("uacc", "mean"),
        Measured("ece"),
    ),
)
FIGURES = ("accuracy_and_set_size", "coverage")


def build(evidence: Evidence) -> Section:
    """All results of the clean protocol."""
    parts = folding(((dataset, _blocks(evidence, dataset)) for dataset in evidence.datasets), 3)
    overview = [Part("", [_overview(evidence)])] if len(evidence.datasets) > 1 else []
    return Section(HEADING, TEXT, [*overview, *parts])


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    detectable = said_detectable(evidence, dataset).strip()
    return [
        *(Text(warning, "warning") for warning in _warnings(evidence, dataset)),
        *([Text(detectable)] if detectable else []),
        _headline(evidence, dataset),
        Figures([f"{name}-{dataset}" for name in FIGURES], beside=True),
    ]


def _headline(evidence: Evidence, dataset: str) -> Grid:
    leaders, models = evidence.leaders(dataset), evidence.models(dataset)
    accuracies = [evidence.number(dataset, model, "accuracy") for model in models]
    rows: list[Row] = [
        ((Cell(model, tone="strong" if model in leaders else ""), _rank(accuracy)), {"model": model})
        for model, accuracy in zip(models, accuracies, strict=True)
    ]
    grid = TABLE.grid(evidence, dataset, rows)
    body = [
        [*row[:2], replace(row[2], range=drawing), *row[3:]]
        for row, drawing in zip(grid.rows, ranges(accuracies), strict=True)
    ]
    return replace(grid, rows=body)


def _rank(number: Number | None) -> Cell:
    if number is None or number.rank is None:
        return MISSING
    return Cell(formatting.ranks(number.rank_low, number.rank_high), key=number.rank)


def _warnings(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    outcomes = evidence.plain_outcomes(dataset)
    silent = outcomes["predicted"].isna() & outcomes["parser"].isna()
    lost = outcomes[silent | (outcomes["parser"] == UNPARSED)].groupby("model").size()
    said = [
        f"{model} gave no readable answer to {formatting.plural(int(number), 'prompt')}."
        for model, number in lost.items()
    ]
    for model in evidence.models(dataset):
        number = evidence.number(dataset, model, "infinite_threshold_rate")
        if number and number.value > 0:
            said.append(
                f"In {formatting.percent(number.value, 0)} of the splits too few rows calibrate {model}: "
                "sets then contain every option."
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
    complete = any(all(numbers) for numbers in uaccs.values())
    if complete:
        columns.append(Column("Mean UAcc", "likewise", True))
    rows = []
    for model in models:
        numbers = [evidence.number(dataset, model, "accuracy") for dataset in datasets]
        mean = _mean(numbers, 1, 100)
        row = [Cell(model), *(figure(n, 1, 100) for n in numbers), mean]
        rows.append([*row, _mean(uaccs[model], 2, 1)] if complete else row)
    place = len(datasets) + 1
    rows.sort(key=lambda row: -(row[place].key or 0))
    return Grid("overview", "Accuracy on every dataset", columns, rows)


def _mean(numbers: list[Number | None], digits: int, scale: float) -> Cell:
    known = [n.value for n in numbers if n is not None]
    if len(known) < len(numbers):
        return MISSING
    return rounded(sum(known) / len(known), digits, scale)
