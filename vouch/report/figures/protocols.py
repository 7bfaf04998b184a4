"""The same answers under the faithful and the clean protocol."""

from typing import Any

import pandas as pd

from vouch.report import formatting, palette
from vouch.report import vegalite as alt
from vouch.report.evidence import Evidence

TITLE = "Faithful against clean"
NARROW = {"beside": False}
# heading, metric, score, format and least distance of the ticks
PANELS = {
    "accuracy": ("Accuracy", "accuracy", "", ".0%", 0.01),
    "coverage": ("Coverage, LAC", "coverage", "lac", ".0%", 0.01),
    "size": ("Options in a set, LAC", "set_size", "lac", ".1f", 0.1),
}
PROTOCOLS = {"clean": "clean, with its interval", "faithful": "faithful"}
STEP = 16
TIPS = alt.tips(".3f", model_n="Model", protocol_n="Protocol", value="Value")


def frame(evidence: Evidence, dataset: str, panel: str) -> pd.DataFrame:
    """One row per model and protocol."""
    _, metric, score, _, _ = PANELS[panel]
    rows = [
        {"model": model, "protocol": name, "value": number.value}
        | ({"low": number.low, "high": number.high} if protocol == "clean" else {})
        for model in evidence.models(dataset)
        for protocol, name in PROTOCOLS.items()
        if (number := evidence.number(dataset, model, metric, score, protocol))
    ]
    return pd.DataFrame(rows, columns=["model", "protocol", "value", "low", "high"])


def _panel(evidence: Evidence, dataset: str, panel: str, named: bool) -> Any:
    title, _, _, form, step = PANELS[panel]
    data = frame(evidence, dataset, panel)
    rows = alt.Y(
        "model:N",
        sort=list(evidence.models(dataset)),
        title=None,
        axis=alt.Axis(labelLimit=230, labelColor=palette.INK, labels=named, ticks=named),
    )
    scale = alt.Scale(zero=False, nice=True)
    across = alt.X(
        "value:Q", title=title, scale=scale, axis=alt.Axis(format=form, tickCount=5, tickMinStep=step)
    )
    names = list(PROTOCOLS.values())
    colour = alt.Color("protocol:N", scale=alt.Scale(domain=names, range=[palette.BLUE, palette.ORANGE]))
    shape = alt.Shape("protocol:N", scale=alt.Scale(domain=names, range=["circle", "diamond"]))
    base = alt.Chart(data).encode(y=rows)
    layers = [
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2, opacity=0.5)
        .encode(x=alt.X("low:Q", scale=scale, title=title), x2="high:Q", color=colour),
        base.mark_point(size=42, strokeWidth=1.6, opacity=1).encode(
            x=across, color=colour, shape=shape, tooltip=TIPS
        ),
    ]
    if panel == "coverage":
        layers.insert(0, alt.target(evidence.target).encode(x=across))
    return alt.layer(*layers).properties(width=205, height=alt.Step(STEP))


def draw(evidence: Evidence, dataset: str, beside: bool = True) -> Any:
    """Three panels, one line per model; None where one of them would be empty. beside: or below another."""
    if any(frame(evidence, dataset, panel).empty for panel in PANELS):
        return None
    first = next(iter(PANELS))
    panels = [_panel(evidence, dataset, panel, panel == first or not beside) for panel in PANELS]
    if beside:
        return alt.hconcat(*panels, spacing=alt.SPACING, bounds="flush")
    return alt.vconcat(*panels, spacing=alt.SPACING)


def describe(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    said = []
    for panel, (title, *_) in PANELS.items():
        data = frame(evidence, dataset, panel).pivot(index="model", columns="protocol", values="value")
        if data.shape[1] == len(PROTOCOLS):
            gap = (data.iloc[:, 0] - data.iloc[:, 1]).abs().max()
            said.append(f"{title}: {formatting.number(gap, 3)}")
    return f"Both protocols on {dataset} for each model. Largest distance between the two: {'; '.join(said)}."
