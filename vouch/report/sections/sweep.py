"""How many questions must calibrate: the sweep over calibration shares."""

from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.grid import Cell, Column, Grid, figure
from vouch.report.sweep import points, shares

TITLE = "How many calibrate"


@dataclass(frozen=True)
class DatasetSweep:
    """sentence: what the smallest share costs."""

    dataset: str
    sentence: str
    grid: Grid
    figures: tuple[str, ...] = ("sweep",)


def build(evidence: Evidence) -> tuple[DatasetSweep, ...]:
    """One part per dataset on which several shares were tried."""
    return tuple(
        DatasetSweep(dataset, _sentence(evidence, dataset), _grid(evidence, dataset))
        for dataset in evidence.datasets
        if shares(evidence, dataset)
    )


def _sentence(evidence: Evidence, dataset: str) -> str:
    model = evidence.leaders(dataset)[0]
    found = points(evidence, dataset, model)
    if len(found) < 2:
        return ""
    first, last = found[0], found[-1]
    return (
        f"Calibrated on {first.share}{formatting.NARROW}% of the questions, {model} covers "
        f"{formatting.percent(first.coverage.value)}{_span(first.coverage.low, first.coverage.high)} with "
        f"{formatting.number(first.size.value, 2)} options; on {last.share}{formatting.NARROW}%, "
        f"{formatting.percent(last.coverage.value)}{_span(last.coverage.low, last.coverage.high)} with "
        f"{formatting.number(last.size.value, 2)}."
    )


def _span(low: float | None, high: float | None) -> str:
    return formatting.bracketed(low, high, 1, 100)


def _grid(evidence: Evidence, dataset: str) -> Grid:
    columns = (
        Column("Model"),
        Column("Share %", "of the questions that calibrate", True),
        Column("Coverage LAC %", "of the questions that do not", True),
        Column("Set size LAC", "likewise", True),
    )
    rows = [
        (
            Cell(model),
            Cell(str(point.share), key=point.share),
            figure(point.coverage, 1, 100),
            figure(point.size, 2),
        )
        for model in evidence.models(dataset)
        for point in points(evidence, dataset, model)
    ]
    return Grid("sweep", f"{dataset}: sets by the share of the questions that calibrate", columns, rows)
