"""Results: for each dataset the headline table and figures; other sections have what else was measured."""

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.asides import MARK, left_out, undecided
from vouch.report.claims import leaders, why_no_leader
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM
from vouch.report.numbers import Number
from vouch.report.section import Beside, Block, Figures, Part, Section, Text, by_dataset
from vouch.report.sections.differences import said_detectable
from vouch.report.table import (
    MISSING,
    Cell,
    Column,
    Grid,
    Row,
    TableSpec,
    cells,
    figure,
    ranges,
    rounded,
)
from vouch.report.table_files import HEADLINES, OPTIONAL
from vouch.tables.asked import TEXT as OUTPUT

TITLE = HEADING = "Results"
TEXT = Markup("""\
Clean protocol: copies of a question stay on one side of every split, and numbers have intervals. Ranks are
those that the intervals allow: <em>1–3</em> means that any of the three is possible. Paired comparisons on
the same questions (<em>Ranking</em>) separate more models; those in bold are better than a guess and not
significantly worse than the best. Click a heading to sort. All numbers of whole datasets are in
<a href="../tables/metrics.csv">tables/metrics.csv</a>, those of categories and of thresholds by stratum in
<code>data/compare/leaderboard.parquet</code>.""")
TABLE = TableSpec(
    "headline",
    f"clean protocol, 95{formatting.NARROW}% intervals in small print",
    (Column("Model"), Column("Rank", "by accuracy: the ranks that the intervals allow", True)),
    HEADLINES,
)
FIGURES = ("accuracy_and_set_size", "coverage")


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    why = why_no_leader(evidence, dataset)
    detectable = f"{why[:1].upper()}{why[1:]}." if why else said_detectable(evidence, dataset).strip()
    return [
        *(Text(w, "warning") for w in left_out(evidence, [dataset])),
        *(Text(w, "warning") for w in _warnings(evidence, dataset)),
        *([Text(detectable)] if detectable else []),
        _headline(evidence, dataset),
        Beside([Figures([f"{name}-{dataset}"]) for name in FIGURES]),
    ]


def _headline(evidence: Evidence, dataset: str) -> Grid:
    leading, away = leaders(evidence, dataset), evidence.left_out(dataset)
    mark = MARK.get(evidence.outputs(dataset)[0], "")
    small = evidence.is_small(dataset)
    candidates = evidence.candidates(dataset)
    models = (*(sorted(candidates) if small else candidates), *away)
    accuracies = [evidence.number(dataset, model, "accuracy") for model in models]
    rows: list[Row] = [
        (
            (_name(model, leading, mark if model in away else ""), MISSING if small else _rank(accuracy)),
            {"model": model},
        )
        for model, accuracy in zip(models, accuracies, strict=True)
    ]
    known = [
        each for each in HEADLINES if each.metric not in OPTIONAL or evidence.numbers(dataset, each.metric)
    ]
    grid = replace(TABLE, measures=known).grid(evidence, dataset, rows)
    body = [
        [*row[:3], replace(row[3], range=drawing), *row[4:]]
        for row, drawing in zip(grid.rows, ranges(accuracies), strict=True)
    ]
    return replace(grid, rows=body)


def _name(model: str, leading: Sequence[str], mark: str) -> Cell:
    if mark:
        return Cell(model, mark, tone="quiet")
    return Cell(model, tone="strong" if model in leading else "")


def _rank(number: Number | None) -> Cell:
    if number is None or number.rank is None:
        return MISSING
    return Cell(formatting.ranks(number.rank_low, number.rank_high), key=number.rank)


def _warnings(evidence: Evidence, dataset: str) -> list[str]:
    outcomes = evidence.plain_outcomes(dataset)
    silent = outcomes["predicted"].isna() & outcomes["parser"].isna()
    lost = outcomes[silent].groupby("model").size()
    said = undecided(evidence, dataset) if evidence.outputs(dataset)[0] == OUTPUT else []
    said += [
        f"{model} gave no readable answer to {formatting.plural(int(number), 'prompt')}."
        for model, number in lost.items()
    ]
    for model, number in evidence.numbers(dataset, "infinite_threshold_rate").items():
        if number.value > 0:
            said.append(
                f"In {formatting.percent(number.value, 0)} of the splits too few rows calibrate {model}: "
                "sets then contain every option."
            )
    return said


def _overview(evidence: Evidence) -> Grid:
    """Accuracy on every dataset, and of models that answered all large enough ones its mean over them."""
    datasets, large, models = evidence.datasets, evidence.large, evidence.all_models
    accuracy, uacc = (
        {m: [_claimed(evidence, dataset, m, metric, score) for dataset in large] for m in models}
        for metric, score in (("accuracy", ""), ("uacc", "mean"))
    )
    complete = bool(large) and any(all(numbers) for numbers in uacc.values())
    columns = [
        Column("Model"),
        *(
            Column(
                name, f"accuracy in per cent of {formatting.plural(evidence.questions(name), 'item')}", True
            )
            for name in datasets
        ),
        Column(
            "Mean",
            f"over the datasets of {MINIMUM} questions or more, each counted once whatever its size; only "
            "where there are all of them",
            True,
        ),
        *([Column("Mean UAcc", "likewise", True)] if complete else []),
    ]
    rows = [
        cells(
            model,
            *(figure(_claimed(evidence, name, model, "accuracy", ""), 1, 100) for name in datasets),
            _mean(accuracy[model], 1, 100),
            *([_mean(uacc[model], 2)] if complete else []),
        )
        for model in models
    ]
    place = len(datasets) + 1
    rows.sort(key=lambda row: -(row[place].key or 0))
    return Grid("overview", "Accuracy on every dataset", columns, rows)


def _claimed(evidence: Evidence, dataset: str, model: str, metric: str, score: str) -> Number | None:
    """A number, unless claims leave the model out."""
    found = evidence.number(dataset, model, metric, score)
    return None if model in evidence.left_out(dataset) else found


def _mean(numbers: list[Number | None], digits: int, scale: float = 1.0) -> Cell:
    known = [n.value for n in numbers if n is not None]
    return rounded(sum(known) / len(known), digits, scale) if len(known) == len(numbers) > 0 else MISSING


_parts = by_dataset(HEADING, TEXT, _blocks, opened=1)


def build(evidence: Evidence) -> Section | None:
    """All results of the clean protocol: an overview where there are several datasets, then one by one."""
    section = _parts(evidence)
    if section is None or len(evidence.datasets) < 2:
        return section
    return replace(section, parts=[Part("", [_overview(evidence)]), *section.parts])
