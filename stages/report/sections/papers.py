"""Every table and figure of the papers that can be built from what is here, and why the others cannot."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from stages.report import drawing, papers, words
from stages.report.evidence import Evidence
from stages.report.grid import Grid
from stages.report.plugins import plugins
from stages.report.reproduce.entry import Built, Entry, Review, review
from stages.report.reproduce.lookup import Lookup

TITLE = "Tables and figures of the papers"
BESIDE = "-published"
"""Ends the names of tables that hold published figures beside ours; they are folded away."""


@dataclass(frozen=True)
class Drawn:
    """svg: for use inside the page. title: its heading. description: the picture in words."""

    svg: Markup
    title: str
    description: str


@dataclass(frozen=True)
class Shown:
    """A table or figure that is here. anchor: its id on the page. beside: published figures beside ours."""

    name: str
    anchor: str
    shows: str
    sentences: Sequence[str]
    grids: Sequence[Grid]
    beside: Sequence[Grid]
    figures: Sequence[Drawn]


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
    prefixes = (f"p{number}" for number in range(1_000_000))
    views = [_view(found, prefixes) for found in reviews if found.shown]
    return tuple(sorted(views, key=lambda view: (-view.compared, -len(view.shown), view.cite)))


def _view(found: Review, prefixes: Iterator[str]) -> PaperView:
    return PaperView(
        anchor=f"papers-{found.slug}",
        cite=found.paper.cite,
        title=found.paper.title,
        note=found.paper.note,
        count=found.count,
        shown=[_shown(found.slug, entry, built, prefixes) for entry, built in found.shown],
        absent=[(words.listed(names, 99), reason) for reason, names in found.reasons],
    )


def _shown(slug: str, entry: Entry, built: Built, prefixes: Iterator[str]) -> Shown:
    return Shown(
        name=entry.name,
        anchor=f"{slug}-{entry.anchor}",
        shows=entry.shows,
        sentences=built.sentences,
        grids=[grid for grid in built.grids if not grid.name.endswith(BESIDE)],
        beside=[grid for grid in built.grids if grid.name.endswith(BESIDE)],
        figures=[
            Drawn(
                Markup(drawing.inline(drawing.svg(made.chart), next(prefixes))), made.title, made.description
            )
            for made in built.drawings
        ],
    )
