"""The few kinds of charts that the papers' figures need."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from vouch.report import vegalite as alt

COLOURS = (alt.BLUE, alt.ORANGE, alt.GREEN, alt.FAINT, alt.INK, alt.MUTED, alt.VIOLET)
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
MOST = len(COLOURS)
"""If there are more kinds than this, colours cannot tell them apart, and all are drawn alike."""
PANEL = 230.0
FIT = "robust regression (Huber)"
TUNING = 1.345
"""Residuals beyond so many scales weigh less: 95 % of the efficiency of least squares on normal errors."""
STEPS = 200
STAR = "M0,-1L0.24,-0.32L0.95,-0.31L0.38,0.12L0.59,0.81L0,0.4L-0.59,0.81L-0.38,0.12L-0.95,-0.31L-0.24,-0.32Z"
UNIT = alt.Scale(domain=[0, 1])
# Text on coloured cells, which are the same in light and dark mode; not from the charts' own colours.
ON_PALE, ON_DEEP = "#000000", "#fdfdfe"


def _shades(most: float = 1) -> Any:
    """Colours for `value`: from -most (orange) over 0 (white) to most (blue)."""
    scale = alt.Scale(
        domain=[-most, 0, most], range=[alt.ORANGE, "#fafafa", alt.BLUE], clamp=True, interpolate="rgb"
    )
    # A continuous scale has no legend: the renderer goes on counting gradients from chart to chart.
    return alt.Color("value:Q", scale=scale, legend=None)


def _kinds(frame: pd.DataFrame, name: str) -> list[Any]:
    return list(dict.fromkeys(frame[name])) if name in frame else []


def _apart(frame: pd.DataFrame, looks: Sequence[str]) -> Any:
    """A channel with a look for each kind of `series`; all look alike if there is one kind, or too many."""
    kinds = _kinds(frame, "series")
    if not 1 < len(kinds) <= MOST:
        return alt.value(looks[0])
    return alt.Field("series:N", scale=alt.Scale(domain=kinds, range=list(looks[: len(kinds)])), sort=kinds)


def _names(angle: int = 0) -> Any:
    return alt.Axis(title=None, labelAngle=angle, labelOverlap=False, labelLimit=220)


def _tips(**titles: str) -> list[Any]:
    """The tooltips of a mark. titles: from column of the frame to heading."""
    return [
        alt.Tooltip(f"{column}:Q", title=title, format=".3~r")
        if column in ("x", "y", "value")
        else alt.Tooltip(f"{column}:N", title=title)
        for column, title in titles.items()
    ]


def _panels(
    frame: pd.DataFrame, draw: Callable[[pd.DataFrame], Any], columns: int = 3, shared: Sequence[str] = ()
) -> Any:
    """A chart for each `panel` under its name, or just the chart if there is only one. shared: scales."""
    names = _kinds(frame, "panel")
    if len(names) < 2:
        return draw(frame)
    columns = 2 if columns == 3 and len(names) == 4 else columns
    charts = [draw(frame[frame["panel"] == name]).properties(title=str(name)) for name in names]
    return alt.concat(*charts, columns=columns, spacing=18).resolve_scale(**dict.fromkeys(shared, "shared"))


def bars(frame: pd.DataFrame, height: float = 160.0, format: str = "") -> Any:
    """Bars of `series` side by side in each `group`; each `panel` is a chart with a scale of its own."""
    order, colour = _kinds(frame, "series"), _apart(frame, COLOURS)

    def draw(part: pd.DataFrame) -> Any:
        groups = _kinds(part, "group")
        long = max(len(str(name)) for name in groups) > 4
        beside = {"xOffset": alt.XOffset("series:N", sort=order)} if len(order) > 1 else {}
        return (
            alt.Chart(part)
            .mark_bar()
            .encode(
                x=alt.X("group:N", sort=groups, axis=_names(-30 if long else 0)),
                y=alt.Y("value:Q", title=None, axis=alt.Axis(format=format, tickCount=5)),
                color=colour,
                tooltip=_tips(series="Series", group="Of", value="Value"),
                **beside,
            )
            .properties(width=max(80.0, 13.0 * len(groups) * len(order)), height=height)
        )

    return _panels(frame, draw, 4)


def dots(frame: pd.DataFrame, title: str, rule: tuple[str, float] | None = None) -> Any:
    """A row for each `row` with a point for each `series`; a chart for each `panel`. rule: the name and the
    position of a line to compare them with."""
    rows, colour, shape = _kinds(frame, "row"), _apart(frame, COLOURS), _apart(frame, SHAPES)

    def draw(part: pd.DataFrame) -> Any:
        base = alt.Chart(part).properties(width=PANEL, height=max(40.0, 16.0 * len(rows)))
        layers = []
        if rule is not None:
            name, at = rule
            line = base.mark_rule(color=alt.MUTED).encode(x=alt.datum(at))
            layers.append(alt.in_legend(line, name, {name: alt.DASHED}))
        points = base.mark_point(filled=True, size=45, opacity=1).encode(
            x=alt.X("value:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
            y=alt.Y("row:N", sort=rows, axis=_names()),
            color=colour,
            shape=shape,
            tooltip=_tips(row="Model", series="Series", value=title),
        )
        return alt.layer(*layers, points)

    return _panels(frame, draw, shared=("x",))


def huber(design: np.ndarray, y: np.ndarray) -> np.ndarray:
    """[k] coefficients of robust linear regression (Huber 1964) of y [n] on the columns of design [n, k].

    Least squares, reweighted: a residual beyond TUNING scales weighs TUNING scales / |residual|. The scale is
    the median absolute residual over .6745, anew in each step. By default, R's MASS::rlm does the same, and
    statsmodels' RLM, on which seaborn's robust lines rest.
    """
    weights, known = np.ones(len(y)), None
    for _ in range(STEPS):
        root = np.sqrt(weights)
        coefficients = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0]
        if known is not None and np.allclose(coefficients, known, rtol=1e-10, atol=1e-12):
            break
        known, residuals = coefficients, np.abs(y - design @ coefficients)
        limit = TUNING * float(np.median(residuals)) / 0.6744897501960817
        if limit < 1e-12 * max(1.0, float(np.abs(y).max())):  # at least half of the points lie on the line
            break
        weights = np.minimum(1.0, limit / np.maximum(residuals, limit * 1e-12))
    return np.asarray(coefficients)


def _line(part: pd.DataFrame) -> pd.DataFrame:
    """The two ends of the robust line through the points."""
    x, y = (part[name].to_numpy(float) for name in ("x", "y"))
    start, slope = huber(np.column_stack([np.ones(len(x)), x]), y)
    ends = np.array([x.min(), x.max()])
    return pd.DataFrame({"x": ends, "y": start + slope * ends})


def scatter(
    frame: pd.DataFrame,
    x: str,
    y: str,
    log: bool = False,
    fit: bool = False,
    shared: Sequence[str] = (),
    starred: str = "",
    ends: tuple[float, float] | None = None,
) -> Any:
    """Points `x`, `y` of each `name` in the colour of its `series`. Optional columns: `line` joins points,
    `size` sets their size. A chart for each `panel`. log: for the scale of x. fit: adds the line of robust
    regression to each panel. shared: scales that all panels share. starred: the series drawn as stars. ends:
    of both axes; by default those of the points."""
    kinds = _kinds(frame, "series")
    shapes = [STAR if kind == starred else look for kind, look in zip(kinds, SHAPES, strict=False)]
    colour, shape = _apart(frame, COLOURS), _apart(frame, shapes or SHAPES)
    span = [float(frame["x"].min()), float(frame["x"].max())]
    wide = alt.Scale(type="log", domain=[span[0] / 1.15, span[1] * 1.15], nice=False)
    powers = alt.Axis(format="~s", tickCount=3, labelOverlap="greedy", labelSeparation=4)

    def draw(part: pd.DataFrame) -> Any:
        scale = alt.Scale(domain=list(ends)) if ends else alt.Scale(zero=False)
        linear = {"scale": scale, "axis": alt.Axis(tickCount=5)}
        across = alt.X("x:Q", title=x, **({"scale": wide, "axis": powers} if log else linear))
        up = alt.Y("y:Q", title=y or None, **linear)
        base = alt.Chart(part).encode(x=across, y=up).properties(width=PANEL, height=0.8 * PANEL)
        layers = []
        if fit and part["x"].nunique() > 1:
            line = alt.Chart(_line(part)).mark_line(color=alt.FAINT, strokeWidth=1.2).encode(x=across, y=up)
            layers.append(alt.in_legend(line, FIT, {FIT: alt.SOLID}))
        if "line" in part:
            layers.append(base.mark_line(strokeWidth=1.2).encode(color=colour, detail="line:N"))
        sized = "size" in part and part["size"].notna().any()
        unknown = {"invalid": None} if sized else {}  # else vega-lite leaves out points without a size
        points = base.mark_point(filled=True, size=50, opacity=1, **unknown).encode(
            color=colour, shape=shape, tooltip=_tips(name="Of", x=x, y=y or "Value")
        )
        if sized:
            points = points.encode(size=alt.Size("size:Q", scale=alt.Scale(range=[30, 300]), legend=None))
        return alt.layer(*layers, points)

    return _panels(frame, draw, shared=shared)


def by_number(
    frame: pd.DataFrame, numbers: Mapping[str, float], kinds: Mapping[str, str], x: str, y: str, line: bool
) -> Any:
    """Scatter plots of each column of the frame against a known number of each model; models are the rows,
    coloured by kind. line: joins the points of a kind."""
    long = frame.loc[list(numbers)].rename_axis("name").reset_index()
    long = long.melt(id_vars="name", var_name="panel", value_name="y").dropna(subset=["y"])
    points = long.assign(x=long["name"].map(numbers), series=long["name"].map(kinds))
    if line:
        points = points.sort_values(["panel", "series", "x"], kind="stable").assign(line=points["series"])
    return scatter(points, x, y, log=True)


def boxes(frame: pd.DataFrame, title: str) -> Any:
    """The spread of `value` in each `group`: quartiles, whiskers to the extremes, a tick for each value."""
    groups = _kinds(frame, "group")
    base = alt.Chart(frame).encode(
        x=alt.X("group:N", sort=groups, axis=_names()),
        y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=False)),
    )
    box = base.mark_boxplot(extent="min-max", size=34, color=alt.FAINT, median={"color": alt.INK})
    ticks = base.mark_tick(color=alt.BLUE, thickness=1.5, width=14).encode(
        tooltip=_tips(group="Of", value=title)
    )
    return alt.layer(box, ticks).properties(width=90.0 * len(groups), height=PANEL)


def heat(frame: pd.DataFrame) -> Any:
    """A matrix of `value` in -1 ... 1 by `row` and `column` with the numbers in it; one per `panel`."""

    def draw(part: pd.DataFrame) -> Any:
        rows, columns = _kinds(part, "row"), _kinds(part, "column")
        angle = -30 if max(len(str(name)) for name in columns) > 6 else 0
        base = alt.Chart(part).encode(
            x=alt.X("column:N", sort=columns, axis=_names(angle)),
            y=alt.Y("row:N", sort=rows, axis=_names()),
            tooltip=_tips(row="Row", column="Column", value="Value"),
        )
        ink = alt.condition("datum.value > 0.935", alt.value(ON_DEEP), alt.value(ON_PALE))  # contrast of 4.5
        numbers = base.mark_text(fontSize=10).encode(text=alt.Text("value:Q", format=".2f"), color=ink)
        chart = alt.layer(base.mark_rect().encode(color=_shades()), numbers)
        return chart.properties(width=46.0 * len(columns), height=22.0 * len(rows))

    return _panels(frame, draw)


def pairs(frame: pd.DataFrame) -> Any:
    """A matrix of the columns: histograms on the diagonal, points below it, Pearson's r above it."""
    names, matrix = list(frame.columns), frame.corr()
    side = {"width": 0.5 * PANEL, "height": 0.5 * PANEL}

    def cell(row: str, column: str) -> Any:
        if row == column:
            return _histogram(frame[row]).properties(**side)
        if names.index(row) < names.index(column):
            number = pd.DataFrame({"value": [matrix.at[row, column]], "at": [0.5]})
            place = {"x": alt.X("at:Q", axis=None, scale=UNIT), "y": alt.Y("at:Q", axis=None, scale=UNIT)}
            text = alt.Text("value:Q", format=".2f")
            return (
                alt.Chart(number)
                .mark_text(fontSize=15, color=alt.INK)
                .encode(text=text, **place)
                .properties(**side)
            )
        ends = {"scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=3)}
        of_pair = frame[[column, row]].set_axis(["x", "y"], axis=1)
        points = alt.Chart(of_pair).mark_point(filled=True, size=25, opacity=1, color=alt.BLUE)
        across, up = alt.X("x:Q", title=column, **ends), alt.Y("y:Q", title=row, **ends)
        return points.encode(x=across, y=up, tooltip=_tips(x=column, y=row)).properties(**side)

    cells = [cell(row, column) for row in names for column in names]
    return alt.concat(*cells, columns=len(names), spacing=18)


def _histogram(values: pd.Series) -> Any:
    """Bars that count the values [n] in bins of equal width; their number is the root of n, 3 to 12."""
    bins = min(12, max(3, round(math.sqrt(len(values)))))
    counts, edges = np.histogram(values, bins)
    frame = pd.DataFrame({"low": edges[:-1], "high": edges[1:], "count": counts})
    low = alt.X("low:Q", title=str(values.name), scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=3))
    up = alt.Y("count:Q", title="Pairs", axis=alt.Axis(tickCount=3))
    tips = [alt.Tooltip(f"{name}:Q", format=".3~r") for name in ("low", "high", "count")]
    bars = alt.Chart(frame).mark_bar(color=alt.FAINT)
    return bars.encode(x=low, x2="high:Q", y=up, y2=alt.datum(0), tooltip=tips)


def surface(frame: pd.DataFrame, x: str, y: str) -> Any:
    """Colours for `value` at `x`, `y`; a chart per panel, whose colours go to 1, or to a larger maximum."""
    tenths = {"format": ".1f", "values": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]}
    across = alt.X("x:O", title=x, axis=alt.Axis(labelAngle=0, **tenths))
    up = alt.Y("y:O", title=y, sort="descending", axis=alt.Axis(**tenths))
    tips = _tips(x=x, y=y, value="Value")

    def draw(part: pd.DataFrame) -> Any:
        shades = _shades(max(1, float(part["value"].max())))
        chart = alt.Chart(part).mark_rect().encode(x=across, y=up, color=shades, tooltip=tips)
        return chart.properties(width=176, height=176)

    drawn = _panels(frame, draw)
    return drawn.resolve_scale(color="independent") if frame["value"].max() > 1 else drawn


def radar(frame: pd.DataFrame) -> Any:
    """A closed line around a centre for each `series`: `value` in 0 ... 1 on each `axis`; one per panel."""
    axes, colour = _kinds(frame, "axis"), _apart(frame, COLOURS)
    place = frame["axis"].map(axes.index)
    angle = 2 * math.pi * place / len(axes)
    x, y = frame["value"] * angle.map(math.sin), frame["value"] * angle.map(math.cos)
    reach = alt.Scale(domain=[-1.3, 1.3], nice=False)
    across, up = alt.X("x:Q", axis=None, scale=reach), alt.Y("y:Q", axis=None, scale=reach)
    turns = [2 * math.pi * turn / len(axes) for turn in range(len(axes))]
    ends = pd.DataFrame({"ex": map(math.sin, turns), "ey": map(math.cos, turns)})
    labels = (1.17 * ends).assign(x=1.17 * ends["ex"], y=1.17 * ends["ey"], label=axes)
    spokes = alt.Chart(pd.concat([ends.assign(x=0.0, y=0.0, label=""), labels])).encode(x=across, y=up)
    rules = spokes.mark_rule(color=alt.RULE).encode(x2="ex:Q", y2="ey:Q")
    names = spokes.mark_text(fontSize=9, color=alt.MUTED).encode(text="label:N")
    tips = _tips(series="Series", axis="Of", value="Value")

    def draw(part: pd.DataFrame) -> Any:
        closing = part[part["place"] == 0].assign(place=len(axes))
        chart = alt.Chart(pd.concat([part, closing])).mark_line(strokeWidth=1.6, point={"size": 14})
        lines = chart.encode(x=across, y=up, order="place:Q", color=colour, detail="series:N", tooltip=tips)
        return alt.layer(rules, names, lines).properties(width=170.0, height=170.0)

    return _panels(frame.assign(x=x.round(4), y=y.round(4), place=place), draw, 4)
