"""Which models differ significantly: the first section of the page Ranking, with its figure."""

from itertools import combinations
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.metrics.comparison.statistics import questions_for
from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.claims import why_no_leader
from vouch.report.evidence import Evidence
from vouch.report.gates import SIGNIFICANCE
from vouch.report.page import (
    Beside,
    Block,
    DatasetFigure,
    Figures,
    Folded,
    PageSection,
    Text,
    by_dataset,
)
from vouch.report.table import MISSING, Cell, Column, Grid, Tone, cells, interval, percent

DIFFERENCES_STEP = 17
DIFFERENCES_TIPS = alt.tips(".1f", row_n="Model", verdict_n="is", other_n="than", points="Points")


def differences_frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per ordered pair: row, column (its number), other (its name), points of accuracy, verdict."""
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


def differences_chart(evidence: Evidence, dataset: str) -> Any:
    """A grid of verdicts, darker for larger differences; None if no pair was compared, or the dataset is
    small."""
    data = differences_frame(evidence, dataset)
    if data.empty or evidence.is_small(dataset):
        return None
    models = evidence.models(dataset)
    places = {model: f"{model}  {place}" for place, model in enumerate(models, start=1)}
    data["row"] = data["row"].map(places)
    verdicts = alt.Scale(
        domain=["better", "worse", "not significant"], range=[alt.BLUE, alt.ORANGE, alt.RULE]
    )
    depth = alt.Scale(domain=[0, max(float(data["points"].max()), 1.0)], range=[0.35, 1.0])
    return (
        alt.Chart(data)
        .mark_rect(cornerRadius=2, width=DIFFERENCES_STEP - 2, height=DIFFERENCES_STEP - 2)
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
                axis=alt.Axis(labelLimit=240, labelColor=alt.INK, grid=False, domain=False, ticks=False),
            ),
            color=alt.Color("verdict:N", scale=verdicts),
            tooltip=DIFFERENCES_TIPS,
            opacity=alt.condition(
                "datum.verdict == 'not significant'",
                alt.value(0.6),
                alt.Opacity("points:Q", scale=depth, legend=None),
            ),
        )
        .properties(width=alt.Step(DIFFERENCES_STEP), height=alt.Step(DIFFERENCES_STEP))
    )


def differences_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    data = differences_frame(evidence, dataset)
    known = data[data["verdict"] != "not significant"]
    return (
        f"Grid of {formatting.plural(len(data) // 2, 'pair')} of models on {dataset}, in the order of "
        f"accuracy: {formatting.count(len(known) // 2)} differ significantly. A cell says whether the model "
        "of its row is better or worse than that of its column."
    )


DIFFERENCES_FIGURE = DatasetFigure(
    "differences", "Which models differ significantly?", differences_chart, differences_in_words
)

DIFFERENCES_TEXT = Markup("""\
Models are compared on the same items, which removes most of the noise: a difference can be significant even
if the intervals of the two models overlap. Darker cells are larger differences.""")
WANTED_EFFECT = 0.05
FEW_MODELS = 8  # up to this many, the table is shown next to the figure


def _differences_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing if there are no pairs."""
    here = evidence.comparisons.on(dataset)
    if here.empty:
        return []
    apart = int((here["p_holm"] < SIGNIFICANCE).sum())
    summary = (
        f"{formatting.count(apart)} of {formatting.plural(len(here), 'pair')} differ significantly "
        f"(p < {SIGNIFICANCE} after Holm's correction over all datasets).{said_detectable(evidence, dataset)}"
    )
    if evidence.is_small(dataset):
        why = why_no_leader(evidence, dataset)
        summary = f"{why[:1].upper()}{why[1:]}."
        return [Text(summary), Folded("Every pair with its interval", [_pairs(evidence, dataset)])]
    figure, models = Figures([f"differences-{dataset}"]), _models(evidence, dataset)
    few = len(models.rows) <= FEW_MODELS
    return [
        Text(summary),
        *([Beside([figure, models])] if few else [figure, Folded("By model", [models])]),
        Folded("Every pair with its interval", [_pairs(evidence, dataset)]),
    ]


def said_detectable(evidence: Evidence, dataset: str) -> str:
    """` The minimum detectable effect ...`; empty if no pair has an interval."""
    least = evidence.comparisons.minimum_detectable_effect(dataset)
    if least is None:
        return ""
    items = int(evidence.comparisons.on(dataset)["items"].max())
    more = (
        f" {formatting.roughly(questions_for(WANTED_EFFECT, items, least))} items would be needed for "
        f"{100 * WANTED_EFFECT:g} points."
        if least > WANTED_EFFECT
        else ""
    )
    return (
        f" The minimum detectable effect of {formatting.plural(items, 'item')} is "
        f"{formatting.number(100 * least, 1)} points (80{formatting.NARROW}% power).{more}"
    )


def _models(evidence: Evidence, dataset: str) -> Grid:
    columns = (
        Column("Model"),
        Column("Better than", "number of models", True),
        Column("Worse than", "number of models", True),
        Column("Not significantly different from"),
    )
    rows = []
    models = evidence.models(dataset)
    for model in models:
        pairs = {
            other: evidence.comparisons.pair(dataset, model, other) for other in models if other != model
        }
        apart = [pair.difference for pair in pairs.values() if pair is not None and pair.significant]
        alike = [other for other, pair in pairs.items() if pair is not None and not pair.significant]
        ties = Cell(formatting.listed(alike, 30) if alike else "–", key=len(alike))
        rows.append(cells(model, sum(d > 0 for d in apart), sum(d < 0 for d in apart), ties))
    return Grid("differences-models", f"{dataset}: significant differences by model", columns, rows)


def _pairs(evidence: Evidence, dataset: str) -> Grid:
    small = evidence.is_small(dataset)
    columns = (
        *map(Column, ("Higher", "Lower") if small else ("Better", "Worse")),
        Column("Difference", f"points of accuracy, 95{formatting.NARROW}% interval", True),
        Column("p, Holm", "over all pairs of all datasets", True),
        Column("Minimum detectable effect", f"points, at 80{formatting.NARROW}% power", True),
        Column("Items", "", True),
    )
    rows = []
    for first, second in combinations(evidence.models(dataset), 2):
        pair = evidence.comparisons.pair(dataset, first, second)
        if pair is None:
            continue
        tone: Tone = "strong" if pair.significant else "quiet"
        p = MISSING if pair.p_holm is None else Cell(formatting.p_value(pair.p_holm), key=pair.p_holm)
        gap = interval(pair.difference, pair.low, pair.high, 1, 100, tone)
        least = (
            MISSING
            if evidence.is_small(dataset)
            else percent(evidence.comparisons.detectable(pair.low, pair.high))
        )
        rows.append(cells(first, second, gap, p, least, pair.items))
    return Grid("differences-pairs", f"{dataset}: every pair, in the order of accuracy", columns, rows)


DIFFERENCES_SECTION = PageSection(
    "differences",
    "Differences",
    by_dataset("Differences between models", DIFFERENCES_TEXT, _differences_blocks),
)
