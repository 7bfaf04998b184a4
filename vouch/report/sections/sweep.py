"""How many questions must calibrate: the sweep over calibration shares."""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.section import Block, Figures, Section, Text, folding
from vouch.report.sets import points, shares
from vouch.report.table import Cell, Column, Grid, cells, figure

TITLE = "Calibration share"
HEADING = "How many questions must calibrate?"
TEXT = Markup("""\
Sets from fewer calibration questions have the same coverage guarantee, but a single split strays further
from it: the intervals are over the splits. With too few questions every set contains every option (Kostumov
et al. 2024, section VI-E).""")


def build(evidence: Evidence) -> Section | None:
    """One part per dataset on which several shares were tried."""
    parts = [
        (dataset, _blocks(evidence, dataset)) for dataset in evidence.datasets if shares(evidence, dataset)
    ]
    return Section(HEADING, TEXT, folding(parts, 1)) if parts else None


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    blocks: list[Block] = [Figures([f"sweep-{dataset}"]), _grid(evidence, dataset)]
    model = evidence.leaders(dataset)[0]
    found = points(evidence, dataset, model)
    if len(found) < 2:
        return blocks
    said = [
        f"{formatting.percent(point.coverage.value)}"
        f"{formatting.bracketed(point.coverage.low, point.coverage.high, 1, 100)} with "
        f"{formatting.number(point.size.value, 2)}"
        for point in (found[0], found[-1])
    ]
    sentence = (
        f"Calibrated on {found[0].share}{formatting.NARROW}% of the questions, {model} covers {said[0]} "
        f"options; on {found[-1].share}{formatting.NARROW}%, {said[1]}."
    )
    return [Text(sentence), *blocks]


def _grid(evidence: Evidence, dataset: str) -> Grid:
    columns = (
        Column("Model"),
        Column("Share %", "of the questions that calibrate", True),
        Column("Coverage LAC %", "on the other questions", True),
        Column("Set size LAC", "on the other questions", True),
    )
    rows = [
        cells(
            *(model, Cell(str(point.share), key=point.share)),
            *(figure(point.coverage, 1, 100), figure(point.size, 2)),
        )
        for model in evidence.models(dataset)
        for point in points(evidence, dataset, model)
    ]
    return Grid("sweep", f"{dataset}: sets by the share of the questions that calibrate", columns, rows)
