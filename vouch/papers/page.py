"""The page Papers: tables and figures of the studies, reasons why some are missing, and published numbers.

The distances between datasets, a section of the page Ranking, are here too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import pandas as pd
from markupsafe import Markup

from vouch.papers.entry import Absent, Built, Entry, Lookup, Paper, papers_with
from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.page import (
    Beside,
    Figures,
    FigureSpec,
    Folded,
    Page,
    PageSection,
    Part,
    Section,
    Text,
    sentence_list,
)
from vouch.report.table import MISSING, Cell, Column, Grid, cells, rounded


@dataclass(frozen=True)
class Review:
    """A paper's entries in its order: those that could be built, and the others, each with the reason."""

    paper: Paper
    shown: Sequence[tuple[Entry, Built]]
    absent: Sequence[tuple[Entry, str]]

    @property
    def count(self) -> str:
        """`9 of 13 tables and figures`."""
        return f"{len(self.shown)} of {len(self.paper.entries)} tables and figures"

    @property
    def reasons(self) -> Sequence[tuple[str, str]]:
        """Pairs of the names of missing entries and the reason that they share."""
        found: dict[str, list[str]] = {}
        for entry, reason in self.absent:
            found.setdefault(reason, []).append(entry.name)
        return [(formatting.listed(names, 99), reason) for reason, names in found.items()]

    @property
    def compared(self) -> int:
        """The number of published numbers that are compared with ours."""
        return sum(len(grid.rows) for _, made in self.shown for grid in made.beside)


def review(paper: Paper, lookup: Lookup) -> Review:
    """Builds the entries of a paper, as far as possible."""
    shown, absent = [], []
    for entry in paper.entries:
        try:
            shown.append((entry, entry.built(paper.slug, lookup)))
        except Absent as reason:
            absent.append((entry, str(reason)))
    return Review(paper, shown, absent)


def build_papers(evidence: Evidence) -> tuple[Review, ...]:
    """A part of the page for each paper with scores here on at least one of its datasets.

    They are sorted by how many published numbers are compared, then by how many entries are shown.
    """
    lookup = Lookup(evidence)
    modules = (import_module(f"vouch.papers.{name}") for name in papers_with(evidence.datasets))
    reviews = [review(module.PAPER, lookup) for module in modules]
    shown = [found for found in reviews if found.shown]
    return tuple(sorted(shown, key=lambda each: (-each.compared, -len(each.shown), each.paper.cite)))


def papers_figures(_: Evidence, reviews: Iterable[Review]) -> Iterator[FigureSpec]:
    """The figures of all papers, in the order of the page."""
    return (spec for found in reviews for _, made in found.shown for spec in made.figures)


PAPERS_SECTION = PageSection(
    "papers",
    "Tables and figures of the papers",
    build_papers,
    page="papers",
    place=10,
    figures=papers_figures,
)


PUBLISHED_HEADING = "Published and ours"
TOLERANCE = 1e-6


def build_published(evidence: Evidence) -> Section | None:
    """A part for each dataset with published numbers; None if there are none."""
    parts = [_part(str(dataset), group) for dataset, group in evidence.reproduced.groupby("dataset")]
    return Section(PUBLISHED_HEADING, Markup(""), parts) if parts else None


PUBLISHED_SECTION = PageSection("published", PUBLISHED_HEADING, build_published, page="papers", place=20)


def _part(dataset: str, frame: pd.DataFrame) -> Part:
    frame = frame.assign(gap=frame["difference"].abs())
    frame["agrees"] = frame["gap"] <= TOLERANCE
    within, asked = int(frame["agrees"].sum()), len(frame)
    summary = f"{formatting.count(within)} of {formatting.plural(asked, 'cell')} within 1e-6"
    missing = int(frame["ours"].isna().sum())
    if missing:
        summary += f", {formatting.count(missing)} without a number of ours"
    elif within < asked:
        worst = frame.loc[frame["gap"].idxmax()]
        summary += f"; the largest difference is {worst['gap']:.2g} ({worst['model']}, {worst['metric']})"
    tone = "good summary" if within == asked else "bad summary"
    cells = Folded("Every number", [_cells(dataset, frame)])
    return Part("", [Text(f"{summary}.", tone, bold=dataset), _metrics(dataset, frame), cells])


def _metrics(dataset: str, frame: pd.DataFrame) -> Grid:
    columns = (
        Column("Metric", "as the source names it"),
        Column("Cells", "", True),
        Column("Within 1e-6", "", True),
        Column("Largest difference", "between published and ours", True),
        Column(
            "Inside the clean interval",
            "published values that lie in the interval of the clean protocol",
            True,
        ),
    )
    rows = []
    for metric, group in frame.groupby("metric"):
        known = group.dropna(subset=["clean_low", "clean_high"])
        inside = int(known["published"].between(known["clean_low"], known["clean_high"]).sum())
        same = int(group["agrees"].sum())
        rows.append(
            cells(
                *(str(metric), len(group)),
                Cell(formatting.count(same), key=same, tone="good" if same == len(group) else "bad"),
                _gap(group["gap"].max()),
                Cell(f"{inside} of {len(known)}", key=inside) if len(known) else MISSING,
            )
        )
    return Grid("published-metrics", f"{dataset}: agreement by metric", columns, rows)


def _gap(value: float, tone: Literal["", "bad"] = "") -> Cell:
    if pd.isna(value):
        return MISSING
    return Cell(f"{value:.1e}".replace("-", formatting.MINUS) if value else "0", key=float(value), tone=tone)


def _cells(dataset: str, frame: pd.DataFrame) -> Grid:
    columns = (
        Column("Model"),
        Column("Published as"),
        Column("Metric"),
        Column("Published", "", True),
        Column("Ours", "faithful protocol", True),
        Column("Difference", "", True),
        Column("Clean", "clean protocol, with its interval", True),
    )
    rows = []
    for row in frame.sort_values(["agrees", "model", "metric"]).itertuples():
        clean = rounded(row.clean, 6)
        if not pd.isna(row.clean_low) and not pd.isna(row.clean_high):
            clean = Cell(clean.text, formatting.span(row.clean_low, row.clean_high, 4), clean.key)
        numbers = (rounded(row.published, 6), rounded(row.ours, 6))
        gap = _gap(row.difference, "" if row.agrees else "bad")
        rows.append(cells(row.model, row.name, row.metric, *numbers, gap, clean))
    return Grid("published-cells", f"{dataset}: published beside ours", columns, rows)


PAGE = Page("papers", "Papers", "Published numbers compared with ours.", place=70)


DISTANCES_HEADING = "What does one dataset say about another?"
DISTANCES_TEXT = Markup("""\
If models keep their order from one dataset to another, accuracy is said to be on the line, and the second
dataset needs no labels. Tu et al. (2024, figures 2 and 4) ask whether this is less true of distant datasets.
A distance means something only if it is well above its value by chance.""")
ON_THE_LINE = "accuracy_on_the_line"
DISTANCES_FIGURES = ("tu-figure-4-1", "tu-figure-2-2")


def build_distances(evidence: Evidence) -> Section | None:
    """The section on distances; None if there is no distance between two datasets."""
    frame = evidence.distances.dropna(subset=["distance"])
    if frame.empty:
        return None
    from vouch.papers.tu import trends

    blocks = [
        *sentence_list(trends(evidence)),
        Beside([Figures([name]) for name in DISTANCES_FIGURES]),
        _distances_grid(evidence, frame),
    ]
    return Section(DISTANCES_HEADING, DISTANCES_TEXT, [Part("", blocks)])


def distances_figures(evidence: Evidence, _: Section | None) -> list[FigureSpec]:
    """The figures of the section: two of the paper's figures."""
    if evidence.distances.empty:
        return []
    from vouch.papers.tu import PAPER

    shown = review(PAPER, Lookup(evidence)).shown
    return [spec for _, made in shown for spec in made.figures if spec.file in DISTANCES_FIGURES]


DISTANCES_SECTION = PageSection(
    "distances", "Distances", build_distances, page="ranking", place=30, figures=distances_figures
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
    """By pair of datasets, the accuracy on the line for the main request type."""
    frame = evidence.of_first_output(evidence.rankings)
    frame = frame[frame["ranker"] == ON_THE_LINE].dropna(subset=["rho"])
    return dict(zip(zip(frame["dataset"], frame["proxy"], strict=True), frame["rho"], strict=True))


def _distance(value: Any) -> Cell:
    if pd.isna(value):
        return MISSING
    return Cell(f"{value:.3g}".replace("-", formatting.MINUS), key=float(value))
