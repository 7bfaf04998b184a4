"""Coverage of the prediction sets against the target."""

from typing import Any

import pandas as pd

from vouch.report import formatting, palette
from vouch.report import vegalite as alt
from vouch.report.evidence import Evidence

TITLE = "Does coverage reach the target?"
NARROW = {"width": 230, "ticks": 4}
SCORES = {"lac": "LAC", "aps": "APS"}
STEP = 17
TIPS = alt.tips(".1%", model_n="Model", score_n="Score", value="Coverage", low="from", high="to")


def frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per model and nonconformity score; no model whose sets hold every option in a split."""
    rows = [
        {"model": model, "score": name, "value": number.value, "low": number.low, "high": number.high}
        for model in evidence.models(dataset)
        if evidence.calibrated(dataset, model)
        for score, name in SCORES.items()
        if (number := evidence.number(dataset, model, "coverage", score))
    ]
    return pd.DataFrame(rows, columns=["model", "score", "value", "low", "high"])


def draw(evidence: Evidence, dataset: str, width: int = 420, ticks: int = 7) -> Any:
    """A point with its interval per model and score; None where nothing has coverage."""
    data = frame(evidence, dataset)
    if data.empty:
        return None
    least = min(float(data[["value", "low"]].astype(float).min().min()), evidence.target) - 0.01
    across = alt.X(
        "value:Q",
        title="Coverage",
        scale=alt.Scale(domain=[least, 1.0], nice=False, zero=False),
        axis=alt.Axis(format=".0%", tickCount=ticks, tickMinStep=0.01),
    )
    order = list(dict.fromkeys(data["model"]))
    rows = alt.Y("model:N", sort=order, title=None, axis=alt.Axis(labelLimit=230, labelColor=palette.INK))
    colour = alt.Color(
        "score:N", scale=alt.Scale(domain=list(SCORES.values()), range=[palette.BLUE, palette.ORANGE])
    )
    shape = alt.Shape("score:N", scale=alt.Scale(domain=list(SCORES.values()), range=["circle", "diamond"]))
    base = alt.Chart(data).encode(x=across, y=rows, color=colour)
    return alt.layer(
        alt.target(evidence.target).encode(x=across),
        alt.whiskers(base).mark_rule(strokeWidth=2, opacity=0.5).encode(x2="high:Q"),
        base.mark_point(filled=True, size=45, opacity=1).encode(shape=shape, tooltip=TIPS),
    ).properties(width=width, height=alt.Step(STEP))


def describe(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    data = frame(evidence, dataset)
    said = []
    for name, group in data.groupby("score", sort=False):
        low, high = formatting.percent(group["value"].min()), formatting.percent(group["value"].max())
        said.append(f"{name} sets cover {low} to {high} of the questions")
    return (
        f"Coverage on {dataset}: {'; '.join(said)}. The target is {formatting.percent(evidence.target, 0)}."
    )
