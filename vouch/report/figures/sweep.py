"""Coverage and set size by the share of the questions that calibrate."""

from typing import Any

import pandas as pd

from vouch.report import formatting, palette
from vouch.report import vegalite as alt
from vouch.report.evidence import Evidence
from vouch.report.figures.reliability import chosen
from vouch.report.marks import target, tips
from vouch.report.sets import points

TITLE = "Coverage and set size by calibration share"
PANELS = {"coverage": ("Coverage, LAC", ".0%"), "size": ("Options in a set, LAC", ".1f")}
COLOURS = [palette.BLUE, palette.ORANGE, palette.GREEN, palette.INK]
SHAPES = ["circle", "diamond", "square", "triangle-up"]
TIPS = [
    *tips(model_n="Model", share="Share %"),
    *tips(".3f", value="Value", low="from", high="to"),
]


def frame(evidence: Evidence, dataset: str, panel: str) -> pd.DataFrame:
    """One row per model and share: value and its interval; `at` keeps the models beside each other."""
    models = chosen(evidence, dataset)
    rows = []
    for place, model in enumerate(models):
        for point in points(evidence, dataset, model):
            number = getattr(point, panel)
            at = point.share + 0.8 * (place - (len(models) - 1) / 2)
            row = {"model": model, "share": point.share, "at": at, "value": number.value}
            rows.append(row | {"low": number.low, "high": number.high})
    return pd.DataFrame(rows, columns=["model", "share", "at", "value", "low", "high"])


def draw(evidence: Evidence, dataset: str) -> Any:
    """Two panels, a line per model; None where but one share was tried."""
    data = {panel: frame(evidence, dataset, panel) for panel in PANELS}
    if data["size"].empty:
        return None
    panels = []
    for panel, (title, form) in PANELS.items():
        models = list(dict.fromkeys(data[panel]["model"]))
        base = alt.Chart(data[panel]).encode(
            x=alt.X(
                "at:Q",
                title="Questions that calibrate, %",
                scale=alt.Scale(nice=False, padding=12, zero=False),
                axis=alt.Axis(values=sorted(set(data[panel]["share"])), grid=False),
            ),
            color=alt.Color("model:N", scale=alt.Scale(domain=models, range=COLOURS[: len(models)])),
        )
        up = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(format=form))
        shape = alt.Shape("model:N", scale=alt.Scale(domain=models, range=SHAPES[: len(models)]))
        layers = [
            base.transform_filter("isValid(datum.low)")
            .mark_rule(strokeWidth=1.5, opacity=0.4)
            .encode(y=alt.Y("low:Q", title=title), y2="high:Q"),
            base.mark_line(strokeWidth=1.2, opacity=0.7).encode(y=up),
            base.mark_point(filled=True, size=45, opacity=1).encode(y=up, shape=shape, tooltip=TIPS),
        ]
        if panel == "coverage":
            layers.insert(0, target(evidence.target).encode(y=up))
        panels.append(alt.layer(*layers).properties(width=270, height=190))
    return alt.hconcat(*panels, spacing=24)


def describe(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    said = []
    for model in chosen(evidence, dataset):
        found = points(evidence, dataset, model)
        if found:
            first, last = found[0], found[-1]
            said.append(
                f"{model} covers {formatting.percent(first.coverage.value)} if {first.share} % calibrate, "
                f"{formatting.percent(last.coverage.value)} if {last.share} % do"
            )
    return f"Coverage and set size by calibration share on {dataset}: {'; '.join(said)}."
