"""Charts as vega-lite, in the style of altair: `Chart(frame).mark_rule().encode(x=X("low:Q"), x2="high:Q")`.

It covers only what the figures need. Every part is a plain value, and a chart is never changed: each call
returns a new one. The palette comes first, parts that several figures share come last. The tests check
`Chart.to_dict` against the published schema.
"""

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partialmethod, reduce
from typing import Any

import pandas as pd

# People with any kind of colour vision can tell these colours apart, on white and on the dark page
# (tests/report/test_charts.py). Figures are drawn in the light ones; the page finds each by the value of its
# attribute and swaps it for the dark one.
INK = "#16202a"
MUTED = "#5c6873"
RULE = "#dfe4e8"
FAINT = "#9aa5af"
BLUE = "#0072b2"
ORANGE = "#d55e00"
GREEN = "#00805d"
VIOLET = "#8f3dfb"
BROWN = "#6b2305"
PAPER = "#ffffff"

# light -> dark
DARK = {
    INK: "#e8edf1",
    MUTED: "#a3afba",
    RULE: "#2d3842",
    FAINT: "#6f7c88",
    BLUE: "#56b4e9",
    ORANGE: "#f0a04b",
    GREEN: "#3fc79a",
    VIOLET: "#b26bff",
    BROWN: "#a8744a",
    PAPER: "#12181e",
}

Part = dict[str, Any]

_TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal", "T": "temporal"}
MODEL_COLOURS = (BLUE, ORANGE, GREEN, VIOLET, BROWN, INK)
MODEL_SHAPES = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down")
SOLID, DASHED, DOTTED = (1, 0), (4, 3), (1.5, 2)
"""Lengths of the dashes of a line and of the gaps between them, pixels."""
INTERVAL = "95 % interval"
_SECOND = ("x2", "y2")  # channels that share the type of another

Axis: type[Part] = dict
Scale: type[Part] = dict

SPACING = 34
"""Pixels between two panels, so that their tick labels do not touch."""


def Field(field: str, **how: Any) -> Part:
    """A channel that shows a column: `Field("value:Q", title=None)`; the letter is one of Q, N, O and T."""
    name, _, kind = field.partition(":")
    return {"field": name, **({"type": _TYPES[kind]} if kind else {}), **how}


X = Y = XOffset = Color = Shape = Size = Opacity = Text = Tooltip = Field


def Step(pixels: float) -> Part:
    """A width or height given as the distance between two rows."""
    return {"step": pixels}


def value(value: object) -> Part:
    """A channel with one value for the whole chart, a colour or a number of pixels."""
    return {"value": value}


def datum(datum: float) -> Part:
    """A channel with one value for the whole chart, a value on its scale."""
    return {"datum": datum}


def condition(test: str, yes: Part, no: Part) -> Part:
    """A channel that is `yes` if the expression is true, else `no`."""
    return {"condition": {"test": test, **yes}, **no}


def _finite(value: object) -> object:
    """A value that JSON can represent; None for NaN and infinities."""
    return None if value is pd.NA or (isinstance(value, float) and not math.isfinite(value)) else value


def _records(frame: pd.DataFrame) -> list[Part]:
    columns = {str(name): [_finite(value) for value in frame[name].tolist()] for name in frame.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _encoded(channel: str, how: object) -> object:
    if not isinstance(how, str):
        return how
    found = Field(how)
    if channel in _SECOND:
        found.pop("type", None)
    return found


class Chart:
    """A chart, or several put together. spec: its vega-lite. datasets: name -> the rows of a dataset."""

    def __init__(self, data: pd.DataFrame, **properties: Any) -> None:
        rows = _records(data)
        text = json.dumps(rows, sort_keys=True)
        name = f"data-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        self.spec: Part = {**properties, "data": {"name": name}}
        self.datasets: Mapping[str, Sequence[Part]] = {name: rows}

    def _with(self, **parts: Any) -> "Chart":
        made = copy(self)
        made.spec = {**self.spec, **parts}
        return made

    def _mark(self, kind: str, **style: Any) -> "Chart":
        return self._with(mark={"type": kind, **style})

    mark_bar = partialmethod(_mark, "bar")
    mark_boxplot = partialmethod(_mark, "boxplot")
    mark_circle = partialmethod(_mark, "circle")
    mark_line = partialmethod(_mark, "line")
    mark_point = partialmethod(_mark, "point")
    mark_rect = partialmethod(_mark, "rect")
    mark_rule = partialmethod(_mark, "rule")
    mark_text = partialmethod(_mark, "text")
    mark_tick = partialmethod(_mark, "tick")

    def encode(self, **channels: Any) -> "Chart":
        """Adds channels: a column, `"model:N"`, or a part that says more about it."""
        every = {**self.spec.get("encoding", {})}
        every |= {name: _encoded(name, how) for name, how in channels.items()}
        return self._with(encoding=dict(sorted(every.items())))

    def properties(self, **properties: Any) -> "Chart":
        return self._with(**properties)

    def _transform(self, **step: Any) -> "Chart":
        return self._with(transform=[*self.spec.get("transform", ()), step])

    def transform_filter(self, test: str) -> "Chart":
        """Keeps the rows for which an expression is true."""
        return self._transform(filter=test)

    def transform_calculate(self, **columns: str) -> "Chart":
        """Adds or replaces columns by expressions."""
        steps: list[tuple[str, str]] = list(columns.items())
        return reduce(lambda made, step: made._transform(calculate=step[1], **{"as": step[0]}), steps, self)

    def resolve_scale(self, **channels: str) -> "Chart":
        """Whether parts share the scales of channels."""
        return self._with(resolve={"scale": channels}) if channels else self

    def to_dict(self) -> Part:
        """The whole as vega-lite."""
        return {**self.spec, "datasets": dict(self.datasets)}


def _joined(kind: str, charts: Sequence[Chart], shared: Sequence[str], **how: Any) -> Chart:
    """shared: properties that move to the whole if all charts that have them agree."""
    together: Part = {}
    for name in shared:
        found = [chart.spec[name] for chart in charts if name in chart.spec]
        if (
            found
            and all(each == found[0] for each in found)
            and (name != "data" or len(found) == len(charts))
        ):
            together[name] = found[0]
    specs = [{name: part for name, part in chart.spec.items() if name not in together} for chart in charts]
    made = copy(charts[0])
    made.spec = {kind: specs, **together, **how}
    made.datasets = {name: rows for chart in charts for name, rows in chart.datasets.items()}
    return made


def layer(*charts: Chart) -> Chart:
    """Charts over one another, the first at the bottom."""
    return _joined("layer", charts, ("data", "width", "height"))


def _beside(kind: str) -> Callable[..., Chart]:
    def joined(*charts: Chart, **how: Any) -> Chart:
        return _joined(kind, charts, ("data",), **how)

    return joined


concat, hconcat, vconcat = _beside("concat"), _beside("hconcat"), _beside("vconcat")


def tips(numbers: str = "", **titles: str) -> list[Part]:
    """Tooltips of a mark. titles: of columns; columns of names end in `_n`. numbers: format of numbers."""
    return [
        Tooltip(f"{column.removesuffix('_n')}:N", title=title)
        if column.endswith("_n")
        else Tooltip(f"{column}:Q", title=title, **({"format": numbers} if numbers else {}))
        for column, title in titles.items()
    ]


def target(value: float) -> Any:
    """A dashed line at `value`; `encode` places it."""
    return Chart(pd.DataFrame({"value": [value]})).mark_rule(color=INK)


def target_name(value: float) -> str:
    """What the legend calls the line of `target`."""
    return f"target, {100 * value:g} %"


def in_legend(
    line: "Chart", name: str, names: Mapping[str, Sequence[float]], width: float = math.inf
) -> "Chart":
    """A line with its dashes and an entry `name` in the legend.

    names: every line of the whole chart with its dashes, in the order of the legend; every panel has the
    first. width: of the legend, pixels.
    """
    key = Field("line:N")
    if name == next(iter(names)):  # the first one describes the scale and the legend for all
        legend = {"symbolType": "stroke", "symbolStrokeColor": MUTED, "symbolSize": 300}
        key["legend"] = legend | legend_columns(list(names), width)
        key["scale"] = Scale(domain=list(names), range=[list(each) for each in names.values()])
    return line.transform_calculate(line=json.dumps(name)).encode(strokeDash=key)


def legend_columns(names: Sequence[str], width: float) -> Part:
    """The number of columns of a legend if its entries do not fit into one row, and their greatest width if
    one of them does not fit."""
    entry = LETTER * max(map(letters, names), default=0) + 45
    if entry * len(names) <= width:
        return {}
    fitting = {} if entry <= width + 45 else {"labelLimit": 300}
    return {"columns": max(int(width // entry), 1), **fitting}


LETTER, WIDE_LETTER = 6.2, 6.6
"""Mean width of a letter, in the font of figures and in a wide font, pixels."""


def letters(text: str) -> int:
    """How many Latin letters are as wide as a text; a Chinese one counts as two."""
    return len(text) + sum(unicodedata.east_asian_width(letter) in "FW" for letter in text)


def fits(names: Sequence[str], width: float) -> bool:
    """Whether each name fits into a width, pixels."""
    return WIDE_LETTER * max(map(letters, names), default=0) <= width


def model_looks(models: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and shape of each model, which it has in every figure of a report.

    models: all models of the report, in an order that does not depend on the figure. The first six differ in
    colour and shape, the first 36 in one of them.
    """
    count = len(MODEL_COLOURS)
    return {
        model: (MODEL_COLOURS[index % count], MODEL_SHAPES[(index + index // count) % count])
        for index, model in enumerate(models)
    }


def ring(base: "Chart", name: str) -> "Chart":
    """A ring around every point of `base`; the legend calls it `name`."""
    legend = {"symbolType": "circle", "symbolFillColor": "transparent", "symbolStrokeColor": INK}
    size = Size("ring:N", scale=Scale(type="ordinal", domain=[name], range=[230]), legend=legend)
    rings: Chart = base.transform_calculate(ring=json.dumps(name)).mark_point(strokeWidth=1.2, opacity=1)
    return rings.encode(size=size, color=value(INK))


def by_model(every: Sequence[str], shown: Sequence[str], **how: Any) -> dict[str, Part]:
    """The channels `color` and `shape` of the column `model`. every: see `model_looks`. shown: the models of
    this chart. how: properties of both, such as `legend=None`."""
    looks = [model_looks(every)[model] for model in shown]
    colours, shapes = ([look[at] for look in looks] for at in (0, 1))
    return {
        "color": Color("model:N", scale=Scale(domain=list(shown), range=colours), **how),
        "shape": Shape("model:N", scale=Scale(domain=list(shown), range=shapes), **how),
    }


def model_lines(
    data: pd.DataFrame,
    every: Sequence[str],
    x: Part,
    y: Part,
    tips: Sequence[Part],
    names: Mapping[str, Sequence[float]],
    width: float,
) -> list[Chart]:
    """A line with points and intervals for each model.

    data: model, value, low, high and `at`, the position on x. every: see `model_looks`. x, y: properties of
    the axes. names: every line of the chart, with INTERVAL. width: of the legends, pixels.
    """
    shown = list(dict.fromkeys(data["model"]))
    looks = by_model(every, shown, legend=legend_columns(shown, width))
    base = Chart(data).encode(x=X("at:Q", **x), color=looks["color"])
    up = Y("value:Q", **y)
    intervals = whiskers(base).mark_rule(strokeWidth=1.5, opacity=0.4).encode(y=up, y2="high:Q")
    return [
        in_legend(intervals, INTERVAL, names, width),
        base.mark_line(strokeWidth=1.2, opacity=0.7).encode(y=up),
        base.mark_point(filled=True, size=45, opacity=1).encode(y=up, shape=looks["shape"], tooltip=tips),
    ]


NARROW_LIMIT = 165  # the greatest width of a name on a narrow screen, pixels
_ONE_LINE = 24  # letters of a name that fit into one line there
_FIRST_LINE = "^(.{8,22}[_ ])"
_LABEL_IN_LINES = (
    f"length(datum.label) > {_ONE_LINE} ? "
    f"split(replace(datum.label, regexp({json.dumps(_FIRST_LINE)}), '$1\\n'), '\\n') : datum.label"
)


def _two_lines(name: str) -> list[str]:
    return re.sub(_FIRST_LINE, r"\1\n", name).split("\n") if len(name) > _ONE_LINE else [name]


def row_step(pixels: float, order: Sequence[str], narrow: bool) -> Part:
    """The height of a chart of `rows`, with room for a second line if a name takes one."""
    return Step(pixels + 12 if narrow and any(len(_two_lines(name)) > 1 for name in order) else pixels)


def rows(
    column: str, order: Sequence[str], limit: int, labels: bool = True, narrow: bool = False, **axis: Any
) -> Part:
    """A y channel with a name for each row. limit: the greatest width of a name, pixels. narrow: names of
    several words take two lines, in rows that are `row_step` high."""
    lines = [line for name in order for line in (_two_lines(name) if narrow else [name])]
    if narrow:
        limit, axis = NARROW_LIMIT, {**axis, "labelExpr": _LABEL_IN_LINES}
    # Pages show other fonts than the one that is measured, and their letters may be wider.
    widest = WIDE_LETTER * max(map(letters, lines), default=0)
    extent = int(min(limit * WIDE_LETTER / LETTER * 1.15, widest)) if labels else 0
    looks = Axis(labelLimit=limit, labelColor=INK, labels=labels, minExtent=extent, **axis)
    return Y(f"{column}:N", sort=order, title=None, axis=looks)


def shares(title: str, least: float, ticks: int) -> Part:
    """An x channel of `value`, a share between `least` and 1."""
    scale = Scale(domain=[least, 1.0], nice=False, zero=False)
    return X("value:Q", title=title, scale=scale, axis=Axis(format=".0%", tickCount=ticks, tickMinStep=0.01))


def two_kinds(column: str, names: Sequence[str]) -> dict[str, Part]:
    """Channels that tell two kinds of points apart, by colour and by shape."""
    colour = Color(f"{column}:N", scale=Scale(domain=names, range=[BLUE, ORANGE]))
    return {"color": colour, "shape": Shape(f"{column}:N", scale=Scale(domain=names, range=MODEL_SHAPES[:2]))}


def whiskers(base: Chart) -> Chart:
    """The rows that have an interval, with its lower end as `value`."""
    return base.transform_filter("isValid(datum.low)").transform_calculate(value="datum.low")
