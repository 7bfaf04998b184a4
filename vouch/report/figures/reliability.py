"""Reliability diagrams of a few models: confidence against accuracy, in the bins of the calibration error."""

from typing import Any

import pandas as pd

from vouch.report import formatting, palette
from vouch.report import vegalite as alt
from vouch.report.claims import MOST_CHOSEN
from vouch.report.evidence import Evidence
from vouch.report.table_files import reliability_bins

TITLE = "Reliability diagram"
NARROW = {"columns": 2, "side": 120}
TIPS = [*alt.tips(".1%", confidence="Confidence", accuracy="Accuracy"), *alt.tips(",", answers="Answers")]


def _panel(data: pd.DataFrame, heading: str, named: bool, side: int) -> Any:
    domain = alt.Scale(domain=[0, 1])
    ticks = alt.Axis(format=".0%", values=[0, 0.5, 1])
    across = alt.X("confidence:Q", title="Confidence", scale=domain, axis=ticks)
    up = alt.Y("accuracy:Q", title="Accuracy" if named else None, scale=domain, axis=ticks)
    line = alt.Chart(pd.DataFrame({"confidence": [0.0, 1.0], "accuracy": [0.0, 1.0]}))
    base = alt.Chart(data)
    size = alt.Size("answers:Q", scale=alt.Scale(range=[12, 160]), legend=None)
    return alt.layer(
        line.mark_line(strokeDash=[4, 3], color=palette.INK, strokeWidth=1).encode(x=across, y=up),
        base.mark_rule(color=palette.BLUE, opacity=0.4, strokeWidth=1.5).encode(
            x=across, y=alt.Y("low:Q", scale=domain), y2="high:Q"
        ),
        base.mark_line(color=palette.BLUE, strokeWidth=1.2, opacity=0.6).encode(x=across, y=up),
        base.mark_circle(color=palette.BLUE, opacity=1).encode(x=across, y=up, size=size, tooltip=TIPS),
    ).properties(width=side, height=side, title=heading)


def draw(evidence: Evidence, dataset: str, columns: int = MOST_CHOSEN, side: int = 210) -> Any:
    """One panel per model: points under the dashed line are over-confident. None without outcomes."""
    data = reliability_bins(evidence, dataset)
    if data.empty:
        return None
    panels = [
        _panel(group.drop(columns=["panel"]), str(heading), index % columns == 0, side)
        for index, (heading, group) in enumerate(data.groupby("panel", sort=False))
    ]
    return alt.concat(*panels, columns=columns, spacing=alt.SPACING)


def describe(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    data = reliability_bins(evidence, dataset)
    if data.empty:
        return ""
    said = []
    for model, group in data.groupby("model", sort=False):
        gap = ((group["confidence"] - group["accuracy"]) * group["answers"]).sum() / group["answers"].sum()
        manner = "over-confident" if gap > 0 else "under-confident"
        said.append(f"{model} is {manner} by {formatting.number(100 * abs(gap), 1)} points on average")
    return f"Reliability diagrams on {dataset}: {'; '.join(said)}."
