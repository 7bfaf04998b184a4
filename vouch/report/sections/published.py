"""Published numbers beside ours."""

from dataclasses import dataclass
from typing import Literal

import pandas as pd

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.grid import MISSING, Cell, Column, Grid, whole

TITLE = "Published and ours"
TOLERANCE = 1e-6


@dataclass(frozen=True)
class DatasetPublished:
    """summary: one line. metrics: agreement per metric. cells: every number, those that differ first."""

    dataset: str
    summary: str
    agrees: bool
    metrics: Grid
    cells: Grid


def build(evidence: Evidence) -> tuple[DatasetPublished, ...]:
    """One part per dataset with published numbers; none where there are none."""
    groups = evidence.reproduced.groupby("dataset")
    return tuple(_part(str(dataset), group) for dataset, group in groups)


def _part(dataset: str, frame: pd.DataFrame) -> DatasetPublished:
    frame = frame.assign(gap=frame["difference"].abs())
    frame["agrees"] = frame["gap"] <= TOLERANCE
    within, asked = int(frame["agrees"].sum()), len(frame)
    summary = f"{formatting.count(within)} of {formatting.plural(asked, 'cell')} within 1e-6"
    missing = int(frame["ours"].isna().sum())
    if missing:
        summary += f", {formatting.count(missing)} without a number of ours"
    elif within < asked:
        worst = frame.loc[frame["gap"].idxmax()]
        summary += f"; the largest difference is {worst['gap']:.2g} ({worst['model']}, {worst['metric']})"
    return DatasetPublished(
        dataset, summary, within == asked, _metrics(dataset, frame), _cells(dataset, frame)
    )


def _metrics(dataset: str, frame: pd.DataFrame) -> Grid:
    columns = (
        Column("Metric", "as the source names it"),
        Column("Cells", "", True),
        Column("Within 1e-6", "", True),
        Column("Largest difference", "between published and ours", True),
        Column("Inside the clean interval", "published values that a clean analysis could have given", True),
    )
    rows = []
    for metric, group in frame.groupby("metric"):
        known = group.dropna(subset=["clean_low", "clean_high"])
        inside = (
            (known["clean_low"] <= known["published"]) & (known["published"] <= known["clean_high"])
        ).sum()
        every = bool(group["agrees"].all())
        rows.append(
            (
                Cell(str(metric)),
                whole(len(group)),
                Cell(
                    formatting.count(int(group["agrees"].sum())),
                    key=group["agrees"].sum(),
                    tone="good" if every else "bad",
                ),
                _gap(group["gap"].max()),
                Cell(f"{inside} of {len(known)}", key=int(inside)) if len(known) else MISSING,
            )
        )
    return Grid("published-metrics", f"{dataset}: agreement by metric", columns, rows)


def _number(value: float) -> Cell:
    return MISSING if pd.isna(value) else Cell(formatting.number(value, 6), key=float(value))


def _gap(value: float, tone: Literal["", "bad"] = "") -> Cell:
    if pd.isna(value):
        return MISSING
    return Cell(f"{value:.1e}".replace("-", formatting.MINUS) if value else "0", key=float(value), tone=tone)


def _cells(dataset: str, frame: pd.DataFrame) -> Grid:
    columns = (
        Column("Model"),
        Column("Published as"),
        Column("Metric"),
        Column("Published", "", True),
        Column("Ours", "faithful protocol", True),
        Column("Difference", "", True),
        Column("Clean", "clean protocol, with its interval", True),
    )
    rows = []
    for row in frame.sort_values(["agrees", "model", "metric"]).itertuples():
        clean = _number(row.clean)
        if not pd.isna(row.clean_low) and not pd.isna(row.clean_high):
            clean = Cell(clean.text, formatting.span(row.clean_low, row.clean_high, 4), clean.key)
        names = (Cell(row.model), Cell(row.name), Cell(row.metric))
        gap = _gap(row.difference, "" if row.agrees else "bad")
        rows.append((*names, _number(row.published), _number(row.ours), gap, clean))
    return Grid("published-cells", f"{dataset}: published beside ours", columns, rows)
