"""Accuracy against the size of the prediction sets: the best models stand at the top left."""

from typing import Any

import pandas as pd

from vouch.report import formatting, labels, palette
from vouch.report import vegalite as alt
from vouch.report.evidence import Evidence
from vouch.report.marks import tips

TITLE = "Accuracy against set size"
SIZE = (520.0, 430.0)
NARROW = (270.0, 270.0)  # with its axes it fits a phone held upright
FONT = 11
TIPS = [
    *tips(".1%", model_n="Model", y="Accuracy", y_low="from", y_high="to"),
    *tips(".2f", x="Options in a set"),
]


def frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per model that has both numbers: x, y, their intervals, and whether it leads."""
    rows = []
    leaders = evidence.leaders(dataset)
    for model in evidence.models(dataset):
        accuracy = evidence.number(dataset, model, "accuracy")
        size = evidence.number(dataset, model, "set_size", "lac")
        if accuracy is None or size is None:
            continue
        rows.append(
            {
                "model": model,
                "leads": model in leaders,
                "x": size.value,
                "x_low": size.value if size.low is None else size.low,
                "x_high": size.value if size.high is None else size.high,
                "y": accuracy.value,
                "y_low": accuracy.value if accuracy.low is None else accuracy.low,
                "y_high": accuracy.value if accuracy.high is None else accuracy.high,
            }
        )
    return pd.DataFrame(rows)


def _domain(data: pd.DataFrame, name: str) -> list[float]:
    low, high = float(data[f"{name}_low"].min()), float(data[f"{name}_high"].max())
    margin = 0.05 * (high - low) or 0.05
    return [low - margin, high + margin]


def _labelled(data: pd.DataFrame, x: list[float], y: list[float], size: tuple[float, float]) -> pd.DataFrame:
    """Adds where each label goes, in the units of the axes."""
    width, height = size
    pixels = [
        ((row.x - x[0]) / (x[1] - x[0]) * width, (y[1] - row.y) / (y[1] - y[0]) * height)
        for row in data.itertuples()
    ]
    placed = labels.place(pixels, data["model"].tolist(), size, FONT)
    rows = [
        {"model": model, "leads": leads, "x": px, "y": py, "label_x": at.x, "label_y": at.y}
        | {"align": at.align, "linked": at.linked}
        for model, leads, (px, py), at in zip(data["model"], data["leads"], pixels, placed, strict=True)
        if at is not None
    ]
    found = pd.DataFrame(rows, columns=["model", "leads", "x", "y", "label_x", "label_y", "align", "linked"])
    for name in ("x", "label_x"):
        found[name] = x[0] + found[name] / width * (x[1] - x[0])
    for name in ("y", "label_y"):
        found[name] = y[1] - found[name] / height * (y[1] - y[0])
    return found


def draw(evidence: Evidence, dataset: str) -> Any:
    """Points with 95 % intervals in both directions, the leaders in colour; None where there is no model."""
    return _drawn(evidence, dataset, SIZE)


def narrow(evidence: Evidence, dataset: str) -> Any:
    """The same for a narrow screen."""
    return _drawn(evidence, dataset, NARROW)


def _drawn(evidence: Evidence, dataset: str, size: tuple[float, float]) -> Any:
    data = frame(evidence, dataset)
    if data.empty:
        return None
    x, y = _domain(data, "x"), _domain(data, "y")

    def across(column: str) -> Any:
        scale, steps = alt.Scale(domain=x, nice=False, zero=False), alt.Axis(tickCount=size[0] // 65)
        return alt.X(f"{column}:Q", title="Mean set size, options (LAC)", scale=scale, axis=steps)

    def up(column: str) -> Any:
        scale = alt.Scale(domain=y, nice=False, zero=False)
        return alt.Y(
            f"{column}:Q", title="Accuracy", scale=scale, axis=alt.Axis(format=".0%", tickMinStep=0.01)
        )

    colour = alt.condition("datum.leads", alt.value(palette.BLUE), alt.value(palette.FAINT))
    base = alt.Chart(data).encode(x=across("x"), y=up("y"), color=colour)
    names = _labelled(data, x, y, size)
    layers = [
        base.mark_rule(strokeWidth=1.5, opacity=0.4).encode(x=across("x_low"), x2="x_high:Q"),
        base.mark_rule(strokeWidth=1.5, opacity=0.4).encode(y=up("y_low"), y2="y_high:Q"),
        alt.Chart(names[names["linked"]])
        .mark_rule(color=palette.FAINT, strokeWidth=0.7)
        .encode(x=across("x"), y=up("y"), x2="label_x:Q", y2="label_y:Q"),
        base.mark_circle(size=60, opacity=1).encode(tooltip=TIPS),
    ]
    ink = alt.condition("datum.leads", alt.value(palette.INK), alt.value(palette.MUTED))
    for align in ("left", "right"):
        text = alt.Chart(names[names["align"] == align]).encode(
            x=across("label_x"), y=up("label_y"), text="model:N"
        )
        style = {"align": align, "baseline": "middle", "fontSize": FONT}
        # A wide stroke in the colour of the paper keeps the name readable over lines.
        layers.append(
            text.mark_text(**style, color=palette.PAPER, stroke=palette.PAPER, strokeWidth=3, opacity=0.85)
        )
        layers.append(text.mark_text(**style).encode(color=ink))
    return alt.layer(*layers).properties(width=size[0], height=size[1])


def describe(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    data = frame(evidence, dataset)
    if data.empty:
        return ""
    first, small = data.iloc[0], data.loc[data["x"].idxmin()]
    return (
        f"Scatter plot of {formatting.plural(len(data), 'model')} on {dataset}. "
        f"{first['model']} has the highest accuracy, {formatting.percent(first['y'])}, "
        f"with {formatting.number(first['x'], 2)} options in a set; "
        f"{small['model']} has the smallest sets, {formatting.number(small['x'], 2)} options."
    )
