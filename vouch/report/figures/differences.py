"""Which models differ significantly: a row against a column."""

from typing import Any

import pandas as pd

from vouch.report import formatting, palette
from vouch.report import vegalite as alt
from vouch.report.evidence import Evidence

TITLE = "Which models differ significantly?"
STEP = 17
TIPS = alt.tips(".1f", row_n="Model", verdict_n="is", other_n="than", points="Points")


def frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per ordered pair: row, column (its place), other (its name), points of accuracy, verdict."""
    models = evidence.models(dataset)
    rows = []
    for model in models:
        for place, other in enumerate(models, start=1):
            pair = evidence.comparisons.pair(dataset, model, other)
            if pair is None:
                continue
            verdict = (
                ("better" if pair.difference > 0 else "worse") if pair.significant else "not significant"
            )
            rows.append(
                {"row": model, "column": place, "other": other}
                | {"points": abs(100 * pair.difference), "verdict": verdict}
            )
    return pd.DataFrame(rows, columns=["row", "column", "other", "points", "verdict"])


def draw(evidence: Evidence, dataset: str) -> Any:
    """A square of verdicts, deeper for larger differences; None where no pair was compared."""
    data = frame(evidence, dataset)
    if data.empty:
        return None
    models = evidence.models(dataset)
    places = {model: f"{model}  {place}" for place, model in enumerate(models, start=1)}
    data["row"] = data["row"].map(places)
    verdicts = alt.Scale(
        domain=["better", "worse", "not significant"], range=[palette.BLUE, palette.ORANGE, palette.RULE]
    )
    depth = alt.Scale(domain=[0, max(float(data["points"].max()), 1.0)], range=[0.35, 1.0])
    return (
        alt.Chart(data)
        .mark_rect(cornerRadius=2, width=STEP - 2, height=STEP - 2)
        .encode(
            x=alt.X(
                "column:O",
                title=None,
                axis=alt.Axis(
                    orient="top", labelAngle=0, grid=False, domain=False, ticks=False, labelOverlap=False
                ),
            ),
            y=alt.Y(
                "row:N",
                sort=list(places.values()),
                title=None,
                axis=alt.Axis(labelLimit=240, labelColor=palette.INK, grid=False, domain=False, ticks=False),
            ),
            color=alt.Color("verdict:N", scale=verdicts),
            tooltip=TIPS,
            opacity=alt.condition(
                "datum.verdict == 'not significant'",
                alt.value(0.6),
                alt.Opacity("points:Q", scale=depth, legend=None),
            ),
        )
        .properties(width=alt.Step(STEP), height=alt.Step(STEP))
    )


def describe(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    data = frame(evidence, dataset)
    known = data[data["verdict"] != "not significant"]
    return (
        f"Grid of {formatting.plural(len(data) // 2, 'pair')} of models on {dataset}, in the order of "
        f"accuracy: {formatting.count(len(known) // 2)} differ significantly. A row is better or worse "
        "than a column."
    )
