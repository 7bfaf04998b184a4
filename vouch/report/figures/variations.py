"""What each variation of the prompt costs in accuracy, confidence and set size.

The control is left out: beside it nothing else could be seen. Of accuracy, what a guess gains where the
answer is flipped is subtracted.
"""

from typing import Any

import pandas as pd

from vouch.report import formatting, palette
from vouch.report import vegalite as alt
from vouch.report.claims import chosen, effects, losses
from vouch.report.costs import ACCURACY, CONFIDENCE, SIZE_LAC, costs, meaning, real_changes
from vouch.report.evidence import Evidence

TITLE = "What each variation of the prompt costs"
# heading, measure, scale, whether it is judged, least distance of the ticks
PANELS = {
    "accuracy": ("Accuracy over a guess, points", ACCURACY, 100.0, True, 1),
    "confidence": ("Confidence, points", CONFIDENCE, 100.0, False, 1),
    "size": ("Options in a set, LAC", SIZE_LAC, 1.0, False, 0.1),
}
VERDICTS = {"costs": palette.ORANGE, "gains": palette.BLUE, "not shown": palette.FAINT}
STEP = 18
TIPS = alt.tips(".2f", model_n="Model", variation_n="Variation", value="Difference", low="from", high="to")


def frame(evidence: Evidence, dataset: str, panel: str) -> pd.DataFrame:
    """One row per model and variation: value (of the difference), its interval, and what it amounts to."""
    _, measure, scale, _, _ = PANELS[panel]
    found = costs(evidence, dataset)
    rows = []
    for model in chosen(evidence, dataset):
        for variation in real_changes(found):
            cost = found.get((model, variation, *measure))
            if cost is None:
                continue
            claim = effects(evidence).get((dataset, model, variation))
            verdict = "not shown" if claim is None else "gains" if claim.above else "costs"
            row = {"model": model, "variation": meaning(variation), "verdict": verdict}
            ends = {"value": cost.net.difference, "low": cost.net.low, "high": cost.net.high}
            rows.append(row | {name: None if end is None else scale * end for name, end in ends.items()})
    return pd.DataFrame(rows, columns=["model", "variation", "value", "low", "high", "verdict"])


def _domain(data: pd.DataFrame) -> list[float]:
    edges = data[["value", "low", "high"]].astype(float)
    low, high = min(0.0, float(edges.min().min())), max(0.0, float(edges.max().max()))
    margin = 0.04 * (high - low) or 0.05
    return [low - margin, high + margin]


def _panel(data: pd.DataFrame, panel: str, model: str, order: list[str], last: bool) -> Any:
    heading, _, _, judged, least = PANELS[panel]
    first = panel == next(iter(PANELS))
    rows = alt.Y(
        "variation:N",
        sort=order,
        title=None,
        axis=alt.Axis(labelLimit=200, labelColor=palette.INK, labels=first, ticks=first),
    )
    ticks = alt.Axis(tickCount=5, tickMinStep=least, labels=last, ticks=last)
    scale = alt.Scale(domain=_domain(data), nice=False, zero=False)
    across = alt.X("value:Q", title=heading if last else None, scale=scale, axis=ticks)
    scores = alt.Scale(domain=list(VERDICTS), range=list(VERDICTS.values()))
    colour = alt.Color("verdict:N", scale=scores) if judged else alt.value(palette.INK)
    base = alt.Chart(data[data["model"] == model]).encode(y=rows, color=colour)
    nothing = alt.Chart(pd.DataFrame({"value": [0.0]}))
    return alt.layer(
        nothing.mark_rule(color=palette.INK, strokeWidth=1).encode(x=across),
        alt.whiskers(base).mark_rule(strokeWidth=2, opacity=0.6).encode(x=across, x2="high:Q"),
        base.mark_circle(size=50, opacity=1).encode(x=across, tooltip=TIPS),
    ).properties(width=190, height=alt.Step(STEP))


def draw(evidence: Evidence, dataset: str) -> Any:
    """Three panels side by side for each model: a point per variation, zero is the original; None without."""
    data = {panel: frame(evidence, dataset, panel) for panel in PANELS}
    if any(found.empty for found in data.values()):
        return None
    models = list(dict.fromkeys(data["accuracy"]["model"]))
    order = [meaning(name) for name in real_changes(costs(evidence, dataset))]
    lines = [
        alt.hconcat(
            *(_panel(data[panel], panel, model, order, model == models[-1]) for panel in PANELS),
            spacing=alt.SPACING,
            bounds="flush",  # so that the panels of all models stand below one another
        ).properties(title=model)
        for model in models
    ]
    return alt.vconcat(*lines, spacing=12)


def describe(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    found = costs(evidence, dataset)
    said = []
    for model in chosen(evidence, dataset):
        lost = losses(evidence, dataset, model)[:1]
        said += [f"none is shown to lower the accuracy of {model}"] if not lost else []
        for variation in lost:
            cost = found[model, variation, *ACCURACY]
            over = "" if cost.guess is None else " over a guess"
            points = formatting.number(-100 * cost.net.difference, 1)
            said.append(f"{meaning(variation)} costs {model} accuracy, {points} points{over}")
    number = formatting.plural(len(real_changes(found)), "variation")
    return (
        f"Difference of accuracy, confidence and set size between each of {number} and the original "
        f"on {dataset}: {'; '.join(said)}."
    )
