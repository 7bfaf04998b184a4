"""Two protocols: what the authors' code makes of the answers, and what a clean analysis makes of them."""

from collections.abc import Iterator
from dataclasses import replace

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.section import Figures, Folded, Part, Section, said
from vouch.report.table import MISSING, Cell, Column, Grid, Measured, cells

TITLE = "Two protocols"
HEADING = "Two protocols on the same answers"
TEXT = Markup("""\
<em>Faithful</em> repeats the published procedure, its defects included, so that published numbers are
reproduced exactly. <em>Clean</em> repairs what can be repaired without asking a model anything. A
difference between the two is an artefact of the procedure, not a property of a model.""")
COLUMNS = (
    Measured("accuracy"),
    Measured("coverage", "lac"),
    Measured("set_size", "lac"),
    Measured("set_size", "aps"),
    Measured("ece"),
)


def build(evidence: Evidence) -> Section:
    """One part per dataset."""
    parts = [
        Part(
            d,
            [
                *said(_sentences(evidence, d)),
                Figures([f"protocols-{d}"]),
                Folded("Both protocols as a table", [_grid(evidence, d)]),
            ],
        )
        for d in evidence.datasets
    ]
    return Section(HEADING, TEXT, parts)


def _most(evidence: Evidence, dataset: str, metric: str, protocol: str) -> float | None:
    """The greatest value over the models, for facts about rows rather than about a model."""
    numbers = [evidence.number(dataset, m, metric, protocol=protocol) for m in evidence.models(dataset)]
    return max((n.value for n in numbers if n), default=None)


def _sentences(evidence: Evidence, dataset: str) -> Iterator[str]:
    share = _most(evidence, dataset, "sibling_share", "faithful")
    if share:
        yield (
            f"In the faithful split {formatting.percent(share, 0)} of the test rows have a sibling, a copy "
            "of the same question, among the calibration rows; the clean protocol keeps siblings on one side."
        )
    elif share is not None:
        yield "No question has copies on both sides of the faithful split."
    dropped = _most(evidence, dataset, "rows_dropped", "clean")
    if dropped is not None:
        rows = formatting.plural(int(dropped), "row") if dropped else "no row"
        yield f"The clean protocol leaves {rows} out as defective."
    yield _moves(evidence, dataset)
    yield _uncertainty(evidence, dataset)


def _moves(evidence: Evidence, dataset: str) -> str:
    """How far the protocol moves numbers and ranks."""
    gaps: dict[str, list[float]] = {"accuracy": [], "set_size": []}
    changed = 0
    for model in evidence.models(dataset):
        for metric, score in (("accuracy", ""), ("set_size", "lac")):
            clean = evidence.number(dataset, model, metric, score)
            faithful = evidence.number(dataset, model, metric, score, "faithful")
            if clean and faithful:
                gaps[metric].append(abs(clean.value - faithful.value))
                changed += metric == "accuracy" and clean.rank != faithful.rank
    known = len(gaps["accuracy"])
    if not known:
        return ""
    text = f"Accuracy changes by at most {formatting.number(100 * max(gaps['accuracy']), 1)} points"
    if gaps["set_size"]:
        text += f" and LAC set size by {formatting.number(max(gaps['set_size']), 2)} options"
    return f"{text}; {changed} of {known} models change rank." if known > 1 else f"{text}."


def _uncertainty(evidence: Evidence, dataset: str) -> str:
    numbers = [n for m in evidence.models(dataset) if (n := evidence.number(dataset, m, "accuracy"))]
    widths = [(n.high - n.low) / 2 for n in numbers if n.low is not None and n.high is not None]
    spans = [
        n.rank_high - n.rank_low + 1 for n in numbers if n.rank_low is not None and n.rank_high is not None
    ]
    if not widths:
        return ""
    reach = formatting.number(100 * sum(widths) / len(widths), 1)
    text = f"The clean interval of an accuracy is ±{reach} points wide on average"
    if len(spans) > 1:
        text += f", which leaves a model {formatting.number(sum(spans) / len(spans), 1)} possible ranks"
    return f"{text}; the faithful protocol has no intervals."


def _grid(evidence: Evidence, dataset: str) -> Grid:
    both = [
        (replace(each, label=f"{each.column.label}, {protocol}", interval=protocol == "clean"), protocol)
        for each in COLUMNS
        for protocol in ("faithful", "clean")
    ]
    columns = (
        Column("Model"),
        Column("Rank, faithful", "by accuracy", True),
        Column("Rank, clean", "by accuracy", True),
        *(each.column for each, _ in both),
    )
    rows = [
        cells(
            model,
            *(_rank(evidence, dataset, model, protocol) for protocol in ("faithful", "clean")),
            *(each.cell(evidence, dataset, model, protocol=protocol) for each, protocol in both),
        )
        for model in evidence.models(dataset)
    ]
    return Grid("protocols", f"{dataset}: both protocols side by side", columns, rows)


def _rank(evidence: Evidence, dataset: str, model: str, protocol: str) -> Cell:
    number = evidence.number(dataset, model, "accuracy", protocol=protocol)
    if number is None or number.rank is None:
        return MISSING
    text = formatting.ranks(number.rank_low, number.rank_high) if protocol == "clean" else str(number.rank)
    return Cell(text, key=number.rank)
