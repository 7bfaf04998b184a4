"""Accuracy against set size: a scatter plot of the models with their names beside the points."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.claims import leaders
from vouch.report.evidence import Evidence
from vouch.report.page import (
    DatasetFigure,
)

CHART_SIZE = (520.0, 430.0)
FONT = 11
CHARACTER = 0.56  # mean width of a character, in font sizes
POINT = 5.0  # half the side of the square that a point keeps free, pixels
Axis = Callable[[str], Any]
"""A channel of a column, `x:Q`, on an axis of the chart."""
ACCURACY_AND_SET_SIZE_TIPS = [
    *alt.tips(".1%", model_n="Model", y="Accuracy", y_low="from", y_high="to"),
    *alt.tips(".2f", x="Options in a set"),
]


def accuracy_and_set_size_frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per model that has both numbers: x, y, their intervals, and whether it leads.

    Models that could not be calibrated in some split are left out, because the size of their sets means
    nothing.
    """
    rows = []
    leading, sizes = leaders(evidence, dataset), evidence.numbers(dataset, "set_size", "lac")
    for model, accuracy in evidence.numbers(dataset, "accuracy").items():
        if model in sizes and evidence.calibrated(dataset, model):
            row: dict[str, Any] = {"model": model, "leads": model in leading}
            for name, number in (("x", sizes[model]), ("y", accuracy)):
                row |= {name: number.value, f"{name}_low": number.ends[0], f"{name}_high": number.ends[1]}
            rows.append(row)
    return pd.DataFrame(rows)


def _domain(data: pd.DataFrame, name: str, *shown: float) -> list[float]:
    low, high = min([*data[f"{name}_low"], *shown]), max([*data[f"{name}_high"], *shown])
    margin = 0.05 * (high - low) or 0.05
    return [low - margin, high + margin]


class Label(NamedTuple):
    """x, y: anchor of the text, pixels. align: `left` or `right`. linked: has a line to its point."""

    x: float
    y: float
    align: str
    linked: bool


def place_labels(
    points: Sequence[tuple[float, float]], names: Sequence[str], size: tuple[float, float]
) -> list[Label | None]:
    """A label for each point (pixels, y downwards), earlier points first; None if there is no free position.

    Deterministic: each point takes the first of a fixed list of positions that overlaps no other label and no
    point and stays inside the chart.
    """
    taken = [(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points]
    labels: list[Label | None] = []
    for (x, y), name in zip(points, names, strict=True):
        width = len(name) * CHARACTER * FONT
        for label in _places(x, y):
            start = label.x if label.align == "left" else label.x - width
            left, right = start - 1, start + width + 1
            top, bottom = label.y - FONT * 0.6, label.y + FONT * 0.6
            inside = left >= 0 and right <= size[0] and top >= 0 and bottom <= size[1]
            if inside and not any(left < c and a < right and top < d and b < bottom for a, b, c, d in taken):
                taken.append((left, top, right, bottom))
                labels.append(label)
                break
        else:
            labels.append(None)
    return labels


def _places(x: float, y: float) -> Iterator[Label]:
    """Positions to try: between the arms of the point's intervals, then further and further away."""
    steps = [sign * step * 0.5 * (FONT + 1) for step in range(1, 11) for sign in (-1, 1)]
    beside = 0.6 * FONT + POINT + 0.5
    yield from (Label(x + 5, y + dy, "left", False) for dy in (-beside, beside))
    yield from (Label(x - 5, y + dy, "right", False) for dy in (-beside, beside))
    for reach in (16, 30, 48, 72):
        for dy in steps:
            yield Label(x + reach, y + dy, "left", True)
            yield Label(x - reach, y + dy, "right", True)


def _labelled(data: pd.DataFrame, x: list[float], y: list[float], size: tuple[float, float]) -> pd.DataFrame:
    """Adds the position of each label, in the units of the axes."""
    width, height = size
    pixels = [
        ((row.x - x[0]) / (x[1] - x[0]) * width, (y[1] - row.y) / (y[1] - y[0]) * height)
        for row in data.itertuples()
    ]
    placed = place_labels(pixels, data["model"].tolist(), size)
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


def accuracy_and_set_size_chart(
    evidence: Evidence, dataset: str, size: tuple[float, float] = CHART_SIZE
) -> Any:
    """Points with 95 % intervals in both directions, the leaders in colour, and the accuracy of a guess.

    None if there is no model to show.
    """
    data = accuracy_and_set_size_frame(evidence, dataset)
    if data.empty:
        return None
    chance = evidence.chance(dataset)
    x, y = _domain(data, "x"), _domain(data, "y", chance)
    fixed = {"nice": False, "zero": False}
    across: Axis = partial(
        alt.X,
        title="Mean set size, options (LAC)",
        scale=alt.Scale(domain=x, **fixed),
        axis=alt.Axis(tickCount=size[0] // 65),
    )
    up: Axis = partial(
        alt.Y,
        title="Accuracy",
        scale=alt.Scale(domain=y, **fixed),
        axis=alt.Axis(format=".0%", tickMinStep=0.01),
    )
    colour = alt.condition("datum.leads", alt.value(alt.BLUE), alt.value(alt.FAINT))
    base = alt.Chart(data).encode(x=across("x:Q"), y=up("y:Q"), color=colour)
    guess = alt.Chart(pd.DataFrame({"x": x[1:], "y": [chance], "text": ["guess"]})).encode(y=up("y:Q"))
    style = {"align": "right", "baseline": "bottom", "dy": -3, "fontSize": FONT, "color": alt.MUTED}
    links, *names = _names(_labelled(data, x, y, size), across, up)
    return alt.layer(
        guess.mark_rule(color=alt.MUTED, strokeDash=[4, 3]),
        guess.mark_text(**style).encode(x=across("x:Q"), text="text:N"),
        base.mark_rule(strokeWidth=1.5, opacity=0.4).encode(x=across("x_low:Q"), x2="x_high:Q"),
        base.mark_rule(strokeWidth=1.5, opacity=0.4).encode(y=up("y_low:Q"), y2="y_high:Q"),
        links,
        base.mark_circle(size=60, opacity=1).encode(tooltip=ACCURACY_AND_SET_SIZE_TIPS),
        *names,
    ).properties(width=size[0], height=size[1])


def _names(labels: pd.DataFrame, across: Axis, up: Axis) -> Iterator[Any]:
    """Lines from distant labels to their points, then the labels."""
    links = alt.Chart(labels[labels["linked"]]).mark_rule(color=alt.FAINT, strokeWidth=0.7)
    yield links.encode(x=across("x:Q"), y=up("y:Q"), x2="label_x:Q", y2="label_y:Q")
    ink = alt.condition("datum.leads", alt.value(alt.INK), alt.value(alt.MUTED))
    for align in ("left", "right"):
        text = alt.Chart(labels[labels["align"] == align]).encode(
            x=across("label_x:Q"), y=up("label_y:Q"), text="model:N"
        )
        style = {"align": align, "baseline": "middle", "fontSize": FONT}
        # A wide stroke in the background colour keeps the name readable over lines.
        yield text.mark_text(**style, color=alt.PAPER, stroke=alt.PAPER, strokeWidth=3, opacity=0.85)
        yield text.mark_text(**style).encode(color=ink)


def accuracy_and_set_size_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    data = accuracy_and_set_size_frame(evidence, dataset)
    if data.empty:
        return ""
    leading = data.loc[data["leads"].astype(bool), "model"].tolist()
    best = f" Best or tied for best: {formatting.listed(leading)}." if leading else ""
    return (
        f"Scatter plot of {formatting.plural(len(data), 'model')} on {dataset}: accuracy "
        f"{formatting.span(data['y'].min(), data['y'].max(), 1, 100)}{formatting.NARROW}%, "
        f"{formatting.span(data['x'].min(), data['x'].max(), 2)} options in a set; guessing is correct for "
        f"{formatting.percent(evidence.chance(dataset))}.{best}"
    )


ACCURACY_AND_SET_SIZE_FIGURE = DatasetFigure(
    "accuracy_and_set_size",
    "Accuracy against set size",
    accuracy_and_set_size_chart,
    accuracy_and_set_size_in_words,
    narrow={"size": (270.0, 270.0)},  # with its axes it fits a phone held upright
)
