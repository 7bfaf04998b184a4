"""Two protocols: what the authors' code makes of the answers, and what a clean analysis makes of them."""

from collections.abc import Iterator
from dataclasses import replace

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.section import Beside, Block, Figures, Folded, by_dataset, said
from vouch.report.table import MISSING, Cell, Column, Measured, Row, TableSpec

TITLE = "Two protocols"
TEXT = Markup("""\
<em>Faithful</em> repeats the published procedure, its defects included, so that published numbers are
reproduced exactly. <em>Clean</em> repairs what can be repaired without asking a model anything. A
difference between the two is an artefact of the procedure, not a property of a model.""")
PROTOCOLS = ("faithful", "clean")
COLUMNS = (
    Measured("accuracy"),
    Measured("coverage", "lac"),
    Measured("set_size", "lac"),
    Measured("set_size", "aps"),
    Measured("ece"),
)
TABLE = TableSpec(
    "protocols",
    "both protocols side by side",
    (Column("Model"), *(Column(f"Rank, {protocol}", "by accuracy", True) for protocol in PROTOCOLS)),
    tuple(
        replace(each, label=f"{each.column.label}, {protocol}", protocol=protocol)
        for each in COLUMNS
        for protocol in PROTOCOLS
    ),
)


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    rows: list[Row] = [
        ((model, *(_rank(evidence, dataset, model, protocol) for protocol in PROTOCOLS)), {"model": model})
        for model in evidence.models(dataset)
    ]
    return [
        Beside([*said(_sentences(evidence, dataset)), Figures([f"protocols-{dataset}"])]),
        Folded("Both protocols as a table", [TABLE.grid(evidence, dataset, rows)]),
    ]


def _most(evidence: Evidence, dataset: str, metric: str, protocol: str) -> float | None:
    """The greatest value over the models, for facts about rows rather than about a model."""
    numbers = evidence.numbers(dataset, metric, protocol=protocol).values()
    return max((number.value for number in numbers), default=None)


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
    both = {
        metric: [
            (clean, faithful[model])
            for faithful in [evidence.numbers(dataset, metric, score, protocol="faithful")]
            for model, clean in evidence.numbers(dataset, metric, score).items()
            if model in faithful
        ]
        for metric, score in (("accuracy", ""), ("set_size", "lac"))
    }
    if not both["accuracy"]:
        return ""

    def most(metric: str) -> float:
        return max(abs(clean.value - faithful.value) for clean, faithful in both[metric])

    text = f"Accuracy changes by at most {formatting.number(100 * most('accuracy'), 1)} points"
    if both["set_size"]:
        text += f" and LAC set size by {formatting.number(most('set_size'), 2)} options"
    known, changed = len(both["accuracy"]), sum(a.rank != b.rank for a, b in both["accuracy"])
    named = known > 1 and not evidence.is_small(dataset)
    return f"{text}; {changed} of {known} models change rank." if named else f"{text}."


def _uncertainty(evidence: Evidence, dataset: str) -> str:
    numbers = evidence.numbers(dataset, "accuracy").values()
    widths = [(n.high - n.low) / 2 for n in numbers if n.low is not None and n.high is not None]
    spans = [
        n.rank_high - n.rank_low + 1 for n in numbers if n.rank_low is not None and n.rank_high is not None
    ]
    if not widths:
        return ""
    reach = formatting.number(100 * sum(widths) / len(widths), 1)
    text = f"The clean interval of an accuracy is ±{reach} points on average"
    if len(spans) > 1 and not evidence.is_small(dataset):
        text += f", which leaves a model {formatting.number(sum(spans) / len(spans), 1)} possible ranks"
    return f"{text}; the faithful protocol has no intervals."


def _rank(evidence: Evidence, dataset: str, model: str, protocol: str) -> Cell:
    number = evidence.number(dataset, model, "accuracy", protocol=protocol)
    if number is None or number.rank is None or evidence.is_small(dataset):
        return MISSING
    text = formatting.ranks(number.rank_low, number.rank_high) if protocol == "clean" else str(number.rank)
    return Cell(text, key=number.rank)


build = by_dataset("Two protocols on the same answers", TEXT, _blocks, opened=1)
