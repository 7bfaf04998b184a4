"""The page Ranking: which models differ significantly, and how well they can be ranked without labels."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.metrics.comparison.rankers import RANKERS
from vouch.metrics.comparison.statistics import holm, questions_for
from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.evidence import Evidence
from vouch.report.gates import SIGNIFICANCE, too_small
from vouch.report.leaders import leaders
from vouch.report.numbers import columns
from vouch.report.page import (
    Beside,
    Block,
    DatasetFigure,
    Figures,
    Folded,
    Page,
    PageSection,
    Part,
    Section,
    Text,
    by_dataset,
)
from vouch.report.table import MISSING, Cell, Column, Grid, Tone, cells, interval, percent, rounded
from vouch.tables.asked import OUTPUTS
from vouch.tables.results import COMBINED, FEW_LABELS, MEAN

DIFFERENCES_STEP, DIFFERENCES_LARGE_STEP = 17, 27
DIFFERENCES_TIPS = alt.tips(".1f", row_n="Model", verdict_n="is", other_n="than", points="Points")


def _compared(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """The models of a dataset without its blind baselines, best accuracy first."""
    return tuple(model for model in evidence.models(dataset) if not evidence.is_blind(dataset, model))


def differences_frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per ordered pair: row, column (its number), other (its name), points of accuracy, verdict."""
    models = _compared(evidence, dataset)
    rows = []
    for model in models:
        for index, other in enumerate(models, start=1):
            pair = evidence.comparisons.pair(dataset, model, other)
            if pair is None:
                continue
            verdict = (
                ("better" if pair.difference > 0 else "worse") if pair.significant else "not significant"
            )
            rows.append(
                {"row": model, "column": index, "other": other}
                | {"points": abs(100 * pair.difference), "verdict": verdict}
            )
    return pd.DataFrame(rows, columns=["row", "column", "other", "points", "verdict"])


def differences_chart(evidence: Evidence, dataset: str, narrow: bool = False) -> Any:
    """A grid of verdicts, darker for larger differences; None if no pair was compared, or the dataset is
    small."""
    data = differences_frame(evidence, dataset)
    if data.empty or evidence.is_small(dataset):
        return None
    models = _compared(evidence, dataset)
    names = {model: f"{model}  {index}" for index, model in enumerate(models, start=1)}
    data["row"] = data["row"].map(names)
    verdicts = alt.Scale(
        domain=["better", "worse", "not significant"], range=[alt.BLUE, alt.ORANGE, alt.RULE]
    )
    legend = alt.legend_columns(verdicts["domain"], 300 if narrow else math.inf)
    depth = alt.Scale(domain=[0, max(float(data["points"].max()), 1.0)], range=[0.35, 1.0])
    bare = {"grid": False, "domain": False, "ticks": False}
    numbers = alt.Axis(orient="top", labelAngle=0, labelOverlap=False, **bare)
    depth_of = alt.Opacity("points:Q", scale=depth, legend=None)
    step = DIFFERENCES_LARGE_STEP if len(models) <= FEW_MODELS else DIFFERENCES_STEP
    side = step - 2
    squares = alt.Chart(data).mark_rect(cornerRadius=2, width=side, height=side)
    return squares.encode(
        x=alt.X("column:O", title=None, axis=numbers),
        y=alt.rows("row", list(names.values()), 240, narrow=narrow, **bare),
        color=alt.Color("verdict:N", scale=verdicts, legend=legend),
        tooltip=DIFFERENCES_TIPS,
        opacity=alt.condition("datum.verdict == 'not significant'", alt.value(0.6), depth_of),
    ).properties(width=alt.Step(step), height=alt.Step(step))


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
    "differences",
    "Which models differ significantly?",
    differences_chart,
    differences_in_words,
    narrow={"narrow": True},
)

DIFFERENCES_TEXT = Markup("""\
Models are compared on the same items, which removes most of the noise: a difference can be significant even
if the intervals of the two models overlap. Darker cells are larger differences.""")
WANTED_EFFECT = 0.05
FEW_MODELS = 8  # up to this many, the table is shown next to the figure


def _differences_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Differences between models; no blocks if there are no pairs."""
    here = evidence.comparisons.on(dataset)
    if here.empty:
        return []
    apart = int((here["p_holm"] < SIGNIFICANCE).sum())
    summary = (
        f"{formatting.count(apart)} of {formatting.plural(len(here), 'pair')} differ significantly "
        f"(p < {SIGNIFICANCE} after Holm's correction over all datasets). "
    )
    summary = f"{summary}{detectable_in_words(evidence, dataset)}".strip()
    if evidence.is_small(dataset):
        why = too_small(evidence.groups(dataset))
        summary = f"{why[:1].upper()}{why[1:]}."
        return [Text(summary), Folded("Every pair with its interval", [_pairs(evidence, dataset)])]
    figure, models = Figures([f"differences-{dataset}"]), _models(evidence, dataset)
    few = len(models.rows) <= FEW_MODELS
    return [
        Text(summary),
        *([Beside([figure, models])] if few else [figure, Folded("By model", [models])]),
        Folded("Every pair with its interval", [_pairs(evidence, dataset)]),
    ]


def detectable_in_words(evidence: Evidence, dataset: str) -> str:
    """The median detectable effect, and how many questions a WANTED_EFFECT needs; empty if no pair has an
    interval."""
    least = evidence.comparisons.median_detectable_effect(dataset)
    if least is None:
        return ""
    items = int(evidence.comparisons.on(dataset)["items"].max())
    more = (
        f" {formatting.roughly(questions_for(WANTED_EFFECT, items, least))} would be needed for "
        f"{100 * WANTED_EFFECT:g} points."
        if least > WANTED_EFFECT
        else ""
    )
    return (
        f"The median detectable effect of {formatting.plural(items, 'question')} is "
        f"{formatting.number(100 * least, 1)} points of accuracy (80{formatting.NARROW}% power): half of the "
        f"pairs of models need a larger difference to be told apart, half a smaller one.{more}"
    )


def _models(evidence: Evidence, dataset: str) -> Grid:
    columns = (
        Column("Model"),
        Column("Better than", "number of models", True),
        Column("Worse than", "number of models", True),
        Column("Not significantly different from"),
    )
    rows = []
    models = _compared(evidence, dataset)
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
        Column(
            "Difference",
            f"points of accuracy, 95{formatting.NARROW}% interval; bold if the first model is shown better",
            True,
        ),
        Column("p, Holm", "over all pairs of all datasets", True),
        Column("Minimum detectable effect", "of this pair, in points of accuracy", True),
        Column("Items", "", True),
    )
    rows = []
    for first, second in combinations(_compared(evidence, dataset), 2):
        pair = evidence.comparisons.pair(dataset, first, second)
        if pair is None:
            continue
        tone: Tone = "strong" if pair.significant else "quiet"
        p = MISSING if pair.p_holm is None else Cell(formatting.p_value(pair.p_holm), key=pair.p_holm)
        gap = interval(pair.difference, pair.low, pair.high, 1, 100, tone)
        least = (
            MISSING
            if evidence.is_small(dataset)
            else percent(evidence.comparisons.minimum_detectable_effect(pair.low, pair.high))
        )
        rows.append(cells(first, second, gap, p, least, pair.items))
    return Grid("differences-pairs", f"{dataset}: every pair, in the order of accuracy", columns, rows)


DIFFERENCES_SECTION = PageSection(
    "differences",
    "Differences",
    by_dataset("Differences between models", DIFFERENCES_TEXT, _differences_blocks, opened=1),
    page="ranking",
    place=10,
)


RANKING_HEADING = "Which model is best, without labels?"
RANKING_TEXT = Markup(
    """\
More certain models are often better. Each row ranks the models by a score that needs no labels of the
dataset, and shows how well this order agrees with their performance: 1 is the same order, 0 no agreement, −1
the reverse order. Rows that take a threshold or a performance from another dataset are means over the other
datasets. The last row shows what a few labels of the dataset itself would give. Intervals are over items,
with the models fixed. A number in bold is significantly better than a random order (p &lt; {SIGNIFICANCE},
each by itself).""".replace("{SIGNIFICANCE}", f"{SIGNIFICANCE:g}")
)
FEWEST = 3
"""Fewest models for a correlation: two are simply in the correct order or not."""
_SHOWN = [(name, each.label, each.note, not each.by_proxy) for name, each in RANKERS.items()]
SHOWN = (
    *((name, label, note) for name, label, note, alone in _SHOWN if alone),
    (COMBINED, "All of these", "mean of their ranks"),
    *((name, label, note) for name, label, note, alone in _SHOWN if not alone),
    (FEW_LABELS, "{} of its own", "mean over draws of labelled items ± its standard deviation"),
)
"""Ranker, label and description; the label of few_labels takes how many there are."""


def build_ranking(evidence: Evidence) -> Section | None:
    """A part for each request type with at least three models, over the datasets that are large enough."""
    frame = evidence.rankings
    frame = frame[~frame["dataset"].map(evidence.is_small).astype(bool)]
    frame = frame[(frame["models"] >= FEWEST) & frame["proxy"].isin(("", MEAN))]
    ranked = evidence.ranked[evidence.ranked["dataset"].isin(frame["dataset"])]
    ranked = ranked[(ranked["ranker"] == COMBINED) & (ranked["score"] == "")]
    here = [output for output in OUTPUTS if (frame["output"] == output).any()]
    parts = [
        _part(
            evidence,
            frame[frame["output"] == output],
            ranked[ranked["output"] == output],
            output,
            output == here[0],
        )
        for output in here
    ]
    return Section(RANKING_HEADING, RANKING_TEXT, parts) if parts else None


RANKING_SECTION = PageSection("ranking", "Without labels", build_ranking, page="ranking", place=20)


def _part(evidence: Evidence, here: pd.DataFrame, ranked: pd.DataFrame, output: str, first: bool) -> Part:
    rho, tau = (
        Grid(
            f"ranking-{output}-{name}",
            f"{formatting.OUTPUT_NAMES[output]}: {title} with performance",
            _columns(here, f"{title}, 95{formatting.NARROW}% interval over items"),
            _rows(here, name),
        )
        for name, title in (("rho", "Spearman's rho"), ("tau", "weighted Kendall's tau"))
    )
    blocks: list[Block] = [
        *map(Text, (*_pick(evidence, ranked), *_ranking_sentences(here))),
        rho,
        Folded("Weighted tau, in which the best models count most", [tau]),
    ]
    return Part(f"By {formatting.OUTPUT_NAMES[output]}", blocks, folds=True, opens=first)


def _pick(evidence: Evidence, ranked: pd.DataFrame) -> tuple[str, ...]:
    """The model that all label-free scores together pick, and on how many datasets it is among the best."""
    datasets: dict[str, list[str]] = {}
    correct = of = 0
    for dataset, group in ranked.groupby("dataset"):
        first = group[group["rank"] == 1]
        datasets.setdefault(formatting.listed(sorted(first["model"])), []).append(str(dataset))
        best = leaders(evidence, str(dataset))
        correct += set(first["model"]) <= set(best)
        of += bool(best)
    if not datasets:
        return ()
    where = [
        who if len(datasets) == 1 else f"{who} on {formatting.listed(names)}"
        for who, names in datasets.items()
    ]
    pick = f"All label-free scores together would pick {'; '.join(where)}."
    if not of:
        return (f"{pick} By the labels, no model is named best.",)
    return (
        f"{pick} By the labels, this choice is best or tied for best on {formatting.count(correct)} of "
        f"{formatting.plural(of, 'dataset')}.",
    )


def _ranking_sentences(here: pd.DataFrame) -> tuple[str, ...]:
    models = int(here["models"].max())
    tested = here[here["p"].notna()]
    if tested.empty:
        return (f"{formatting.plural(models, 'model')} are ranked.",)
    least = float(tested["p_least"].min())
    significant = sum(p is not None and p < SIGNIFICANCE for p in holm(columns(tested, ["p"])[0]))
    sentences = [f"{formatting.plural(models, 'model')} are ranked; the smallest possible p is {_p(least)}."]
    if least >= SIGNIFICANCE:
        sentences.append(
            "Even a perfect order would not be significant, so the numbers are only an illustration."
        )
    else:
        sentences.append(
            f"{formatting.count(significant)} of {formatting.plural(len(tested), 'correlation')} that use no "
            f"other dataset have p < {SIGNIFICANCE:g} after Holm's correction."
        )
    return tuple(sentences)


def _p(value: float) -> str:
    return formatting.number(value, 3) if value >= 0.001 else "0.001"


def _columns(here: pd.DataFrame, help: str) -> list[Column]:
    datasets = sorted(here["dataset"].unique())
    mean = [Column("Mean", "over the datasets, each counted once", True)] if len(datasets) > 1 else []
    return [Column("Ranker"), *(Column(dataset, help, True) for dataset in datasets), *mean]


def _rows(here: pd.DataFrame, name: str) -> list[list[Cell]]:
    datasets = sorted(here["dataset"].unique())
    rows = []
    for ranker, label, note in SHOWN:
        of_ranker = here[here["ranker"] == ranker]
        for score in sorted(of_ranker["score"].unique()):
            own = of_ranker[of_ranker["score"] == score].set_index("dataset")
            cells = [
                _ranking_cell(own.loc[dataset], name) if dataset in own.index else MISSING
                for dataset in datasets
            ]
            title = f"{label} at {score.removeprefix('t')}" if score else label
            if ranker == FEW_LABELS:  # one number for all datasets: `compare.labels`
                title = label.format(formatting.plural(int(own["labels"].iloc[0]), "label"))
            rows.append([Cell(title, note), *cells, *_ranking_mean(own[name], len(datasets))])
    return rows


def _ranking_cell(row: pd.Series, name: str) -> Cell:
    value, low, high = (row[key] for key in (name, f"{name}_low", f"{name}_high"))
    if pd.isna(value):
        return MISSING
    if not pd.isna(low):
        note = formatting.span(low, high, 2)
    else:
        note = f"± {formatting.number(row['sd'], 2)}" if name == "rho" and not pd.isna(row["sd"]) else ""
    better = not pd.isna(row["p"]) and row["p"] < SIGNIFICANCE and value > 0
    return Cell(formatting.number(value, 2), note, float(value), tone="strong" if better else "")


def _ranking_mean(values: pd.Series, datasets: int) -> Sequence[Cell]:
    """The mean over datasets: no cell if there is only one dataset; a dash if a dataset has no value."""
    if datasets < 2:
        return ()
    if len(values) < datasets or values.isna().any():
        return (MISSING,)
    return (rounded(float(values.mean()), 2),)


PAGE = Page(
    "ranking",
    "Ranking",
    "Which differences between models are significant, and how well models can be ranked without labels.",
    place=60,
)
