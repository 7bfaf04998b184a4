"""Answer, or hand to a person: wrong answers, and their bound, by the share of the questions answered."""

from typing import Any

import pandas as pd

from vouch.metrics.conformal.selective import curve
from vouch.report import formatting, palette
from vouch.report import vegalite as alt
from vouch.report.claims import chosen
from vouch.report.evidence import Evidence

TITLE = "Answer, or hand to a person"
NARROW = {"columns": 1, "width": 250}
FOUND, BOUND = "wrong among the answers", "bound, 90 % confidence"
TIPS = [
    *alt.tips(kind_n="Shown"),
    *alt.tips(".1%", answered="Answered", value="Wrong", threshold="Confidence"),
]


def frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """A row for each model, threshold and kind: answered, value. Nothing where a dataset is too small."""
    parts = []
    for model in () if evidence.is_small(dataset) else chosen(evidence, dataset):
        found = curve(*evidence.confidences(dataset, model), seed=evidence.scoring.seed)
        for kind, values in ((FOUND, found.wrong), (BOUND, found.bound)):
            columns = {"answered": found.answered, "value": values, "threshold": found.thresholds}
            parts.append(pd.DataFrame(columns).assign(model=model, kind=kind))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def draw(evidence: Evidence, dataset: str, columns: int = 2, width: int = 300) -> Any:
    """A panel for each model; None where nothing may be said."""
    data = frame(evidence, dataset)
    if data.empty:
        return None
    colour = alt.Color("kind:N", scale=alt.Scale(domain=[FOUND, BOUND], range=[palette.BLUE, palette.ORANGE]))
    panels = []
    for model, group in data.groupby("model", sort=False):
        across = alt.X(
            "answered:Q",
            title="Answered by the model",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format=".0%", tickCount=5),
        )
        up = alt.Y(
            "value:Q", title="Wrong", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", tickCount=5)
        )
        base = alt.Chart(group.drop(columns=["model"])).encode(x=across, y=up, color=colour)
        panels.append(
            alt.layer(
                alt.target(0.05).encode(y=up),
                base.mark_line(strokeWidth=1.5),
                base.mark_circle(size=30, opacity=1).encode(tooltip=TIPS),
            ).properties(width=width, height=170, title=str(model))
        )
    return alt.concat(*panels, columns=columns, spacing=alt.SPACING)


def describe(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    data = frame(evidence, dataset)
    said = []
    for model, group in data[data["kind"] == BOUND].groupby("model", sort=False):
        low = group[group["value"] <= 0.05]
        share = f"up to {formatting.percent(low['answered'].max(), 0)}" if len(low) else "no share"
        said.append(f"for {model} {share} of the questions with a bound of 5{formatting.NARROW}% or less")
    return f"Wrong answers by the share of the questions answered on {dataset}: {'; '.join(said)}."
