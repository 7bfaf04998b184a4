"""Reliability diagrams of a few models: confidence against accuracy, in the bins of the calibration error."""

from typing import Any

import numpy as np
import pandas as pd

from vouch.metrics.intervals import wilson
from vouch.report import formatting, palette
from vouch.report import vegalite as alt
from vouch.report.evidence import Evidence

TITLE = "Reliability diagram"
MOST = 4
NARROW = {"columns": 2, "side": 120}
SPACING = 34  # so that the ticks of two panels stay apart
TIPS = [*alt.tips(".1%", confidence="Confidence", accuracy="Accuracy"), *alt.tips(",", answers="Answers")]


def bins(confidence: np.ndarray, correct: np.ndarray, number: int) -> pd.DataFrame:
    """One row per bin that holds an answer: bin, confidence (mean), accuracy, low, high, answers.

    confidence: in [0, 1]; correct: share of the prediction that is right, for ties share it; both of shape
    (answers,). low, high: Wilson's 95 % interval.
    """
    index = np.minimum((confidence * number).astype(int), number - 1)
    answers = np.bincount(index, minlength=number)
    held = np.flatnonzero(answers)
    n = answers[held].astype(float)
    share = np.bincount(index, weights=correct, minlength=number)[held] / n
    mean = np.bincount(index, weights=confidence, minlength=number)[held] / n
    low, high = wilson(share * n, n)
    return pd.DataFrame(
        {
            "bin": held,
            "confidence": mean,
            "accuracy": share,
            "low": low,
            "high": high,
            "answers": answers[held],
        }
    )


def chosen(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """All models where they are few; else the best and the worst in accuracy and in calibration."""
    models = evidence.models(dataset)
    if len(models) <= MOST:
        return models
    errors = {m: number.value for m in models if (number := evidence.number(dataset, m, "ece"))}
    extremes = [models[0], models[-1]]
    if errors:
        extremes += [min(errors, key=lambda m: (errors[m], m)), max(errors, key=lambda m: (errors[m], m))]
    return tuple(m for m in models if m in extremes)


def frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per model and bin, with a heading for the model's panel."""
    parts = []
    for model in chosen(evidence, dataset):
        confidence, correct, _ = evidence.confidences(dataset, model)
        if len(confidence):
            error = evidence.number(dataset, model, "ece")
            note = f"{model} (ECE {formatting.number(100 * error.value, 1)} %)" if error else model
            table = bins(confidence, correct, evidence.scoring.bins)
            parts.append(table.assign(model=model, panel=note))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


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


def draw(evidence: Evidence, dataset: str, columns: int = MOST, side: int = 210) -> Any:
    """One panel per model: points under the dashed line are over-confident. None without outcomes."""
    data = frame(evidence, dataset)
    if data.empty:
        return None
    panels = [
        _panel(group.drop(columns=["panel"]), str(heading), index % columns == 0, side)
        for index, (heading, group) in enumerate(data.groupby("panel", sort=False))
    ]
    return alt.concat(*panels, columns=columns, spacing=SPACING)


def describe(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    data = frame(evidence, dataset)
    if data.empty:
        return ""
    said = []
    for model, group in data.groupby("model", sort=False):
        gap = ((group["confidence"] - group["accuracy"]) * group["answers"]).sum() / group["answers"].sum()
        manner = "over-confident" if gap > 0 else "under-confident"
        said.append(f"{model} is {manner} by {formatting.number(100 * abs(gap), 1)} points on average")
    return f"Reliability diagrams on {dataset}: {'; '.join(said)}."
