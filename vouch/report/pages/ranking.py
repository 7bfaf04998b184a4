"""The page Ranking: how well models can be ranked without labels; differences.py has its first section."""

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup

from vouch.metrics.comparison.rankers import RANKERS
from vouch.metrics.comparison.statistics import holm
from vouch.report import formatting
from vouch.report.claims import leaders
from vouch.report.evidence import Evidence, columns
from vouch.report.gates import SIGNIFICANCE
from vouch.report.page import (
    Block,
    Folded,
    Page,
    PageSection,
    Part,
    Section,
    Text,
)
from vouch.report.pages.differences import DIFFERENCES_SECTION
from vouch.report.table import MISSING, Cell, Column, Grid, rounded
from vouch.tables.asked import OUTPUTS
from vouch.tables.results import COMBINED, FEW_LABELS, MEAN

RANKING_HEADING = "Which model is best, without labels?"
RANKING_TEXT = Markup("""\
More certain models are often better. Each row ranks the models by a score that needs no labels of the
dataset, and shows how well this order agrees with their performance: 1 is the same order, 0 no agreement, −1
the reverse order. Rows that take a threshold or a performance from another dataset are means over the other
datasets. The last row shows what a few labels of the dataset itself would give. Intervals are over items,
with the models fixed.""")
FEWEST = 3
"""Fewest models for a correlation: two are simply in the correct order or not."""
# ranker, label, what it is; in the order of the table
_SHOWN = [(name, each.label, each.note, not each.by_proxy) for name, each in RANKERS.items()]
SHOWN = (
    *((name, label, note) for name, label, note, alone in _SHOWN if alone),
    (COMBINED, "All of these", "mean of their ranks"),
    *((name, label, note) for name, label, note, alone in _SHOWN if not alone),
    (FEW_LABELS, "A few labels", "mean over draws of labelled items ± its standard deviation"),
)


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


RANKING_SECTION = PageSection("ranking", "Without labels", build_ranking)


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
    correct = 0
    for dataset, group in ranked.groupby("dataset"):
        first = group[group["rank"] == 1]
        datasets.setdefault(formatting.listed(sorted(first["model"])), []).append(str(dataset))
        correct += set(first["model"]) <= set(leaders(evidence, str(dataset)))
    if not datasets:
        return ()
    where = [
        who if len(datasets) == 1 else f"{who} on {formatting.listed(names)}"
        for who, names in datasets.items()
    ]
    of = sum(map(len, datasets.values()))
    return (
        f"All label-free scores together would pick {'; '.join(where)}. By the labels, this choice is best "
        f"or tied for best on {formatting.count(correct)} of {formatting.plural(of, 'dataset')}.",
    )


def _ranking_sentences(here: pd.DataFrame) -> tuple[str, ...]:
    models = int(here["models"].max())
    tested = here[here["p"].notna()]
    if tested.empty:
        return (f"{formatting.plural(models, 'model')} are ranked.",)
    least = float(tested["p_least"].min())
    significant = sum(p is not None and p < SIGNIFICANCE for p in holm(columns(tested, ["p"])[0]))
    sentences = [
        f"{formatting.plural(models, 'model')} are ranked; the smallest possible p is {_p(least)}.",
    ]
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
    significant = not pd.isna(row["p"]) and row["p"] < SIGNIFICANCE
    return Cell(formatting.number(value, 2), note, float(value), tone="strong" if significant else "")


def _ranking_mean(values: pd.Series, datasets: int) -> Sequence[Cell]:
    """Nothing if there is one dataset; a dash if a dataset has no value."""
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
    sections=(
        DIFFERENCES_SECTION,
        RANKING_SECTION,
    ),
)
