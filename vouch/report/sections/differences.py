"""Differences between models: paired on the same items, corrected for the number of pairs."""

from itertools import combinations

from markupsafe import Markup

from vouch.metrics.comparison.differences import questions_for
from vouch.report import formatting
from vouch.report.claims import why_no_leader
from vouch.report.evidence import Evidence
from vouch.report.numbers import SIGNIFICANCE
from vouch.report.section import Beside, Block, Figures, Folded, Text, by_dataset
from vouch.report.table import MISSING, Cell, Column, Grid, Tone, cells, interval, percent

TITLE = "Differences"
TEXT = Markup("""\
Models are compared on the same items, which removes most of the noise: a difference can be
significant although the intervals of the two models overlap. Darker cells are larger differences.""")
WANTED = 0.05
FEW = 8  # models whose table stands beside the figure


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where there are no pairs."""
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
    figure, models = Figures([f"differences-{dataset}"]), _models(evidence, dataset)
    few = len(models.rows) <= FEW
    return [
        Text(summary),
        *([Beside([figure, models])] if few else [figure, Folded("By model", [models])]),
        Folded("Every pair with its interval", [_pairs(evidence, dataset)]),
    ]


def said_detectable(evidence: Evidence, dataset: str) -> str:
    """` The minimum detectable effect ...`, or nothing where no pair has an interval."""
    least = evidence.comparisons.minimum_detectable_effect(dataset)
    if least is None:
        return ""
    items = int(evidence.comparisons.on(dataset)["items"].max())
    more = (
        f" {formatting.roughly(questions_for(WANTED, items, least))} would find {100 * WANTED:g} points."
        if least > WANTED
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
        said = Cell(formatting.listed(alike, 30) if alike else "–", key=len(alike))
        rows.append(cells(model, sum(d > 0 for d in apart), sum(d < 0 for d in apart), said))
    return Grid("differences-models", f"{dataset}: significant differences by model", columns, rows)


def _pairs(evidence: Evidence, dataset: str) -> Grid:
    columns = (
        Column("Better"),
        Column("Worse"),
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


build = by_dataset("Differences between models", TEXT, _blocks)
