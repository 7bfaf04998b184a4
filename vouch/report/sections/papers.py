"""Every table and figure of the papers that can be built from what is here, and why the others cannot."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vouch.report import formatting, papers
from vouch.report.evidence import Evidence
from vouch.report.figure_spec import FigureSpec
from vouch.report.plugins import plugins
from vouch.report.reproduce.entry import Built, Entry, Review, review
from vouch.report.reproduce.lookup import Lookup
from vouch.report.table import Grid

TITLE = "Tables and figures of the papers"
BESIDE = "-published"
"""Ends the names of tables that hold published figures beside ours; they are folded away."""


@dataclass(frozen=True)
class Shown:
    """A table or figure that is here. anchor: its id on the page. beside: published figures beside ours."""

    name: str
    anchor: str
    shows: str
    sentences: Sequence[str]
    grids: Sequence[Grid]
    beside: Sequence[Grid]
    figures: Sequence[FigureSpec]


@dataclass(frozen=True)
class PaperView:
    """count: how many of its tables and figures are here. absent: names of those that are not, and why."""

    anchor: str
    cite: str
    title: str
    note: str
    count: str
    shown: Sequence[Shown]
    absent: Sequence[tuple[str, str]]

    @property
    def compared(self) -> int:
        """How many published figures stand beside ours."""
        return sum(len(grid.rows) for entry in self.shown for grid in entry.beside)


def build(evidence: Evidence) -> tuple[PaperView, ...]:
    """One part for each paper, those first with most published figures beside ours, then with most shown."""
    lookup = Lookup(evidence)
    reviews = [review(name, module.PAPER, lookup) for name, module in plugins(papers).items()]
    views = [_view(found) for found in reviews if found.shown]
    return tuple(sorted(views, key=lambda view: (-view.compared, -len(view.shown), view.cite)))


def figure_specs(views: Iterable[PaperView]) -> Iterator[FigureSpec]:
    """The figures of all papers, in the order of the page."""
    return (spec for view in views for entry in view.shown for spec in entry.figures)


def _view(found: Review) -> PaperView:
    return PaperView(
        anchor=f"papers-{found.slug}",
        cite=found.paper.cite,
        title=found.paper.title,
        note=found.paper.note,
        count=found.count,
        shown=[_shown(found.slug, entry, built) for entry, built in found.shown],
        absent=[(formatting.listed(names, 99), reason) for reason, names in found.reasons],
    )


def _shown(slug: str, entry: Entry, built: Built) -> Shown:
    anchor = f"{slug}-{entry.anchor}"
    return Shown(
        name=entry.name,
        anchor=anchor,
        shows=entry.shows,
        sentences=built.sentences,
        grids=[grid for grid in built.grids if not grid.name.endswith(BESIDE)],
        beside=[grid for grid in built.grids if grid.name.endswith(BESIDE)],
        figures=[
            FigureSpec("of-paper", f"{anchor}-{place}", made.title, "", made.description, made.chart)
            for place, made in enumerate(built.drawings, start=1)
        ],
    )
