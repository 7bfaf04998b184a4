"""Published numbers beside ours."""

from typing import Literal

import pandas as pd
from markupsafe import Markup

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.section import Folded, Part, Section, Text
from vouch.report.table import MISSING, Cell, Column, Grid, cells, rounded

TITLE = HEADING = "Published and ours"
TOLERANCE = 1e-6


def build(evidence: Evidence) -> Section | None:
    """One part per dataset with published numbers; None where there are none."""
    parts = [_part(str(dataset), group) for dataset, group in evidence.reproduced.groupby("dataset")]
    return Section(HEADING, Markup(""), parts) if parts else None


def _part(dataset: str, frame: pd.DataFrame) -> Part:
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
    tone = "good summary" if within == asked else "bad summary"
    cells = Folded("Every number", [_cells(dataset, frame)])
    return Part("", [Text(f"{summary}.", tone, bold=dataset), _metrics(dataset, frame), cells])


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
        inside = int(known["published"].between(known["clean_low"], known["clean_high"]).sum())
        same = int(group["agrees"].sum())
        rows.append(
            cells(
                *(str(metric), len(group)),
                Cell(formatting.count(same), key=same, tone="good" if same == len(group) else "bad"),
                _gap(group["gap"].max()),
                Cell(f"{inside} of {len(known)}", key=inside) if len(known) else MISSING,
            )
        )
    return Grid("published-metrics", f"{dataset}: agreement by metric", columns, rows)


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
        clean = rounded(row.clean, 6)
        if not pd.isna(row.clean_low) and not pd.isna(row.clean_high):
            clean = Cell(clean.text, formatting.span(row.clean_low, row.clean_high, 4), clean.key)
        numbers = (rounded(row.published, 6), rounded(row.ours, 6))
        gap = _gap(row.difference, "" if row.agrees else "bad")
        rows.append(cells(row.model, row.name, row.metric, *numbers, gap, clean))
    return Grid("published-cells", f"{dataset}: published beside ours", columns, rows)
