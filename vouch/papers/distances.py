"""What one dataset tells about another: distances between datasets beside figures of Tu et al."""

from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.papers.entry import Lookup
from vouch.papers.page import review
from vouch.papers.tu import PAPER, trends
from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.page import (
    Beside,
    Figures,
    FigureSpec,
    PageSection,
    Part,
    Section,
    sentence_list,
)
from vouch.report.table import MISSING, Cell, Column, Grid, cells, rounded

DISTANCES_HEADING = "What does one dataset say about another?"
DISTANCES_TEXT = Markup("""\
If models keep their order from one dataset to another, accuracy is said to be on the line, and the second
dataset needs no labels. Tu et al. (2024, figures 2 and 4) ask whether this is less true of distant datasets.
A distance means something only if it is well above its value by chance.""")
ON_THE_LINE = "accuracy_on_the_line"
DISTANCES_FIGURES = ("tu-figure-4-1", "tu-figure-2-2")


def build_distances(evidence: Evidence) -> Section | None:
    """None if no two datasets have a distance."""
    frame = evidence.distances.dropna(subset=["distance"])
    if frame.empty:
        return None
    blocks = [
        *sentence_list(trends(evidence)),
        Beside([Figures([name]) for name in DISTANCES_FIGURES]),
        _distances_grid(evidence, frame),
    ]
    return Section(DISTANCES_HEADING, DISTANCES_TEXT, [Part("", blocks)])


def distances_figures(evidence: Evidence, _: Section | None) -> list[FigureSpec]:
    """The figures of the section: two of the paper."""
    if evidence.distances.empty:
        return []
    shown = review(PAPER, Lookup(evidence)).shown
    return [spec for _, made in shown for spec in made.figures if spec.file in DISTANCES_FIGURES]


DISTANCES_SECTION = PageSection(
    "distances", "Distances", build_distances, figures=distances_figures, page="ranking"
)


def _distances_grid(evidence: Evidence, frame: pd.DataFrame) -> Grid:
    alike = _agreement(evidence)
    columns = (
        Column("Dataset"),
        Column("Other dataset"),
        Column("Of"),
        Column("Distance", "Fréchet distance of the embeddings", True),
        Column(
            "By chance",
            "mean distance between random parts of the same sizes, drawn from both together",
            True,
        ),
        Column("Same order, rho", "Spearman's rho between the models' performance on the two", True),
    )
    rows = [
        cells(
            *(row.dataset, row.other, Cell(row.of, row.encoder), _distance(row.distance)),
            *(_distance(row.chance), rounded(alike.get((row.dataset, row.other)), 2)),
        )
        for row in frame.sort_values(["of", "distance", "dataset", "other"]).itertuples()
    ]
    return Grid("distances", "Pairs of datasets, the nearest first", columns, rows)


def _agreement(evidence: Evidence) -> dict[tuple[str, str], float]:
    """Accuracy on the line for the main request type, by pair of datasets."""
    frame = evidence.of_first_output(evidence.rankings)
    frame = frame[frame["ranker"] == ON_THE_LINE].dropna(subset=["rho"])
    return dict(zip(zip(frame["dataset"], frame["proxy"], strict=True), frame["rho"], strict=True))


def _distance(value: Any) -> Cell:
    if pd.isna(value):
        return MISSING
    return Cell(f"{value:.3g}".replace("-", formatting.MINUS), key=float(value))
