"""Sets that were calibrated on the original prompts, tested on the same questions asked in another way.

The controls are left out: beside them nothing else could be seen.
"""

from typing import Any

import pandas as pd

from vouch.report import formatting, palette
from vouch.report import vegalite as alt
from vouch.report.claims import chosen, guarantee
from vouch.report.costs import is_control, meaning
from vouch.report.evidence import Evidence
from vouch.report.numbers import Number
from vouch.tables.asked import ORIGINAL

TITLE = "Coverage of sets calibrated on the original prompts"
SCORE = "lac"
SELF = "original prompts"
GUARANTEES = {"broken": palette.ORANGE, "cannot tell": palette.BLUE, "kept": palette.GREEN}
STEP, LABELS, LETTER = 18, 270, 7
TIPS = alt.tips(".1%", model_n="Model", asked_n="Asked", value="Coverage", low="from", high="to")


def shifted(evidence: Evidence, dataset: str, model: str) -> dict[str, Number]:
    """Coverage of a model by variation before empty sets are filled, in alphabetical order, controls last."""
    names = sorted(evidence.variations(dataset), key=lambda name: (is_control(name), name))
    found = {name: evidence.number(dataset, model, "shift_coverage", SCORE, variation=name) for name in names}
    return {name: number for name, number in found.items() if number and name != ORIGINAL}


def frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per model and way of asking: value, low, high and what becomes of the guarantee."""
    rows = []
    for model in chosen(evidence, dataset):
        found = shifted(evidence, dataset, model)
        asked = {name: number for name, number in found.items() if not is_control(name)}
        own = evidence.number(dataset, model, "unfilled_coverage", SCORE)
        if asked and own is not None:
            asked = {ORIGINAL: own} | asked
        for name, number in asked.items():
            row = {
                "model": model,
                "asked": SELF if name == ORIGINAL else meaning(name),
                "value": number.value,
            }
            row |= {"low": number.low, "high": number.high}
            rows.append(row | {"guarantee": guarantee(evidence, dataset, model, name)})
    return pd.DataFrame(rows, columns=["model", "asked", "value", "low", "high", "guarantee"])


def _panel(data: pd.DataFrame, model: str, order: list[str], least: float, aim: float, first: bool) -> Any:
    rows = alt.Y(
        "asked:N",
        sort=order,
        title=None,
        scale=alt.Scale(domain=order),
        axis=alt.Axis(
            labelLimit=LABELS,
            # Room for letters that are wider than those of the font that was measured.
            minExtent=min(LABELS, LETTER * max(map(len, order))) if first else 0,
            labelColor=palette.INK,
            labels=first,
            ticks=first,
        ),
    )
    across = alt.X(
        "value:Q",
        title="Coverage",
        scale=alt.Scale(domain=[least, 1.0], nice=False, zero=False),
        axis=alt.Axis(format=".0%", tickCount=5, tickMinStep=0.01),
    )
    scale = alt.Scale(domain=list(GUARANTEES), range=list(GUARANTEES.values()))
    colour = alt.Color("guarantee:N", scale=scale)
    base = alt.Chart(data[data["model"] == model]).encode(x=across, y=rows, color=colour)
    return alt.layer(
        alt.target(aim).encode(x=across),
        alt.whiskers(base).mark_rule(strokeWidth=2, opacity=0.6).encode(x2="high:Q"),
        base.mark_circle(size=50, opacity=1).encode(tooltip=TIPS),
    ).properties(width=250, height=alt.Step(STEP), title=model)


def draw(evidence: Evidence, dataset: str) -> Any:
    """A panel per model, a point with its interval per way of asking; None where there is but one way."""
    data = frame(evidence, dataset)
    if data.empty:
        return None
    order = list(dict.fromkeys(data["asked"]))
    least = max(0.0, min(float(data[["value", "low"]].astype(float).min().min()), evidence.target) - 0.02)
    panels = [
        _panel(data, model, order, least, evidence.target, index % 2 == 0)
        for index, model in enumerate(dict.fromkeys(data["model"]))
    ]
    return alt.concat(*panels, columns=2, spacing=alt.SPACING)


def describe(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    data = frame(evidence, dataset)
    said = []
    for model, group in data[data["asked"] != SELF].groupby("model", sort=False):
        worst = group.loc[group["value"].idxmin()]
        broken = int((group["guarantee"] == "broken").sum())
        said.append(
            f"{model} is shown to break the target in {broken} of {len(group)}, lowest coverage "
            f"{formatting.percent(worst['value'])} with {worst['asked']}"
        )
    return (
        f"Coverage on {dataset} of sets calibrated on the original prompts, target "
        f"{formatting.percent(evidence.target, 0)}: {'; '.join(said)}."
    )
