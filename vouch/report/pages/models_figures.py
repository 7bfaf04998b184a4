"""The two figures of the page Models: accuracy against the size of prediction sets, and coverage.

Its headline table is in models.py.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from vouch.metrics.conformal.scores import SCORES
from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.evidence import Evidence
from vouch.report.leaders import leaders
from vouch.report.page import (
    DatasetFigure,
)
from vouch.tables import HEADLINE

CHART_SIZE = (520.0, 430.0)
FONT = 11
MARGIN = 26.0  # pixels that are free of data on each side
BETTER = (8.0, 0.0, 62.0, 18.0)
"""The rectangle in the top left corner with the word `better`, pixels."""
HALO = {"color": alt.PAPER, "stroke": alt.PAPER, "strokeWidth": 3, "opacity": 0.85}
"""A wide stroke in the background colour below a text keeps it readable over lines."""
BEST = "best, or tied for best"
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


def _domain(data: pd.DataFrame, name: str, size: float, *shown: float) -> list[float]:
    """The ends of an axis that is `size` pixels long. shown: further values that it must hold."""
    low, high = min([*data[f"{name}_low"], *shown]), max([*data[f"{name}_high"], *shown])
    margin = MARGIN / (size - 2 * MARGIN) * (high - low) or 0.05
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
    taken = [BETTER, *((x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points)]
    labels: list[Label | None] = []
    for (x, y), name in zip(points, names, strict=True):
        width = alt.letters(name) * CHARACTER * FONT
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
    beside = 0.6 * FONT + POINT + 2.5
    yield from (Label(x + 7, y + dy, "left", False) for dy in (-beside, beside))
    yield from (Label(x - 7, y + dy, "right", False) for dy in (-beside, beside))
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
    """Points with intervals in both directions, those of the leaders in a ring, and the accuracy of a guess.

    None if there is no model to show.
    """
    data = accuracy_and_set_size_frame(evidence, dataset)
    if data.empty:
        return None
    chance = evidence.chance(dataset)
    x, y = _domain(data, "x", size[0]), _domain(data, "y", size[1], chance)
    fixed = {"nice": False, "zero": False}
    across: Axis = partial(
        alt.X,
        title="Mean set size, options (LAC)",
        scale=alt.Scale(domain=x, **fixed),
        axis=alt.Axis(tickCount=4),
    )
    up: Axis = partial(
        alt.Y,
        title="Accuracy",
        scale=alt.Scale(domain=y, **fixed),
        axis=alt.Axis(format=".0%", tickCount=5, tickMinStep=0.01),
    )
    guess = f"guess, {formatting.number(100 * chance, 0)} %"
    names = {alt.INTERVAL: alt.SOLID, guess: alt.DASHED}
    models, labels = data["model"].tolist(), _labelled(data, x, y, size)
    # A name that finds no free place beside its point is in a legend.
    legend = None if len(labels) == len(models) else alt.legend_columns(models, size[0])
    looks = alt.by_model(evidence.all_models, models, legend=legend)
    base = alt.Chart(data).encode(x=across("x:Q"), y=up("y:Q"), color=looks["color"])
    whiskers = alt.in_legend(base.mark_rule(strokeWidth=1.5, opacity=0.4), alt.INTERVAL, names, size[0])
    links, *texts = _names(labels, across, up)
    return alt.layer(
        alt.in_legend(alt.target(chance).encode(y=up("value:Q")), guess, names, size[0]),
        whiskers.encode(x=across("x_low:Q"), x2="x_high:Q"),
        whiskers.encode(y=up("y_low:Q"), y2="y_high:Q"),
        links,
        *([alt.ring(base.transform_filter("datum.leads"), BEST)] if data["leads"].any() else []),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            shape=looks["shape"], tooltip=ACCURACY_AND_SET_SIZE_TIPS
        ),
        *texts,
        *_better(),
    ).properties(width=size[0], height=size[1])


def _better() -> Iterator[Any]:
    """An arrow to the corner of high accuracy and small sets."""
    corner = alt.Chart(pd.DataFrame({"text": ["better"]}))
    arrow = corner.mark_point(shape="arrow", filled=True, angle=315, size=150, color=alt.MUTED, opacity=1)
    yield arrow.encode(x=alt.value(14), y=alt.value(10))
    for style in (HALO, {"color": alt.MUTED}):
        text = corner.mark_text(align="left", baseline="middle", fontSize=FONT, **style)
        yield text.encode(x=alt.value(24), y=alt.value(10), text="text:N")


def _names(labels: pd.DataFrame, across: Axis, up: Axis) -> Iterator[Any]:
    """Lines from distant labels to their points, then the labels."""
    links = alt.Chart(labels[labels["linked"]]).mark_rule(color=alt.FAINT, strokeWidth=0.7)
    yield links.encode(x=across("x:Q"), y=up("y:Q"), x2="label_x:Q", y2="label_y:Q")
    for align in ("left", "right"):
        text = alt.Chart(labels[labels["align"] == align]).encode(
            x=across("label_x:Q"), y=up("label_y:Q"), text="model:N"
        )
        style = {"align": align, "baseline": "middle", "fontSize": FONT}
        yield text.mark_text(**style, **HALO)
        yield text.mark_text(**style, color=alt.INK)


def accuracy_and_set_size_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    data = accuracy_and_set_size_frame(evidence, dataset)
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
    narrow={"size": (270.0, 270.0)},  # together with its axes, it fits a phone held upright
)


SET_SCORES = {name: SCORES[name].label for name in HEADLINE}
COVERAGE_STEP = 28
COVERAGE_TIPS = alt.tips(".1%", model_n="Model", value="Coverage", low="from", high="to")


def coverage_frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per model and nonconformity score, for models that were calibrated in every split."""
    rows = [
        {"model": model, "score": name, "value": number.value, "low": number.low, "high": number.high}
        for model in evidence.models(dataset)
        if evidence.calibrated(dataset, model)
        for score, name in SET_SCORES.items()
        if (number := evidence.number(dataset, model, "coverage", score))
    ]
    return pd.DataFrame(rows, columns=["model", "score", "value", "low", "high"])


def coverage_chart(evidence: Evidence, dataset: str, beside: bool = True, width: int = 235) -> Any:
    """A panel for each score, a row for each model; None if no model has coverage.

    beside: panels in a row, not in a column.
    """
    data = coverage_frame(evidence, dataset)
    if data.empty:
        return None
    least = min(float(data[["value", "low"]].astype(float).min().min()), evidence.target) - 0.01
    models = list(dict.fromkeys(data["model"]))
    across, narrow = alt.shares("Coverage", least, 4), not alt.fits(models, alt.NARROW_LIMIT)
    colours = alt.by_model(evidence.all_models, models, legend=None)
    target = alt.target_name(evidence.target)
    names = {alt.INTERVAL: alt.SOLID, target: alt.DASHED}
    panels: list[Any] = []
    for score, own in data.groupby("score", sort=False):
        labels = not beside or not panels
        rows = alt.rows("model", models, 300, labels=labels, narrow=narrow, ticks=False)
        base = alt.Chart(own.drop(columns=["score"])).encode(x=across, y=rows, color=colours["color"])
        whiskers = alt.whiskers(base).mark_rule(strokeWidth=2, opacity=0.5).encode(x2="high:Q")
        chart = alt.layer(
            alt.in_legend(alt.target(evidence.target).encode(x=across), target, names),
            alt.in_legend(whiskers, alt.INTERVAL, names),
            base.mark_point(filled=True, size=60, opacity=1).encode(
                shape=colours["shape"], tooltip=COVERAGE_TIPS
            ),
        )
        step = alt.row_step(COVERAGE_STEP, models, narrow)
        panels.append(chart.properties(width=width, height=step, title=str(score)))
    join = alt.hconcat if beside else alt.vconcat
    return join(*panels, spacing=alt.SPACING + 10, **({"bounds": "flush"} if beside else {}))


def coverage_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    data = coverage_frame(evidence, dataset)
    parts = []
    for name, group in data.groupby("score", sort=False):
        low, high = formatting.percent(group["value"].min()), formatting.percent(group["value"].max())
        parts.append(f"{name} sets cover {low} to {high} of the questions")
    return (
        f"Coverage on {dataset}: {'; '.join(parts)}. The target is {formatting.percent(evidence.target, 0)}."
    )


COVERAGE_FIGURE = DatasetFigure(
    "coverage",
    "Does coverage reach the target?",
    coverage_chart,
    coverage_in_words,
    narrow={"beside": False, "width": 200},
)
