"""Every table and figure of the papers that can be built from what is here, and why the others cannot."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vouch.report import formatting, papers, plugins
from vouch.report.evidence import Evidence
from vouch.report.figures import FigureSpec
from vouch.report.reproduce.entry import Absent, Built, Entry, Lookup, Paper

TITLE = "Tables and figures of the papers"


@dataclass(frozen=True)
class Review:
    """A paper's entries, sorted into what is here and what is not and why, in the order of the paper."""

    slug: str
    paper: Paper
    shown: Sequence[tuple[Entry, Built]]
    absent: Sequence[tuple[Entry, str]]

    @property
    def count(self) -> str:
        """`9 of 13 tables and figures`."""
        return f"{len(self.shown)} of {len(self.paper.entries)} tables and figures"

    @property
    def reasons(self) -> Sequence[tuple[str, str]]:
        """Names of the entries that are not here, those with the same reason together, and the reason."""
        found: dict[str, list[str]] = {}
        for entry, reason in self.absent:
            found.setdefault(reason, []).append(entry.name)
        return [(formatting.listed(names, 99), reason) for reason, names in found.items()]

    @property
    def compared(self) -> int:
        """How many published figures stand beside ours."""
        return sum(len(grid.rows) for _, made in self.shown for grid in made.beside)


def review(slug: str, paper: Paper, lookup: Lookup) -> Review:
    """Builds all that can be built."""
    shown, absent = [], []
    for entry in paper.entries:
        try:
            shown.append((entry, entry.built(slug, lookup)))
        except Absent as reason:
            absent.append((entry, str(reason)))
    return Review(slug, paper, shown, absent)


def build(evidence: Evidence) -> tuple[Review, ...]:
    """One part for each paper of whose datasets one has scores here.

    Those come first that have most published figures beside ours, then with most shown.
    """
    lookup, here = Lookup(evidence), set(evidence.datasets)
    known = {name: module.PAPER for name, module in plugins(papers).items()}
    reviews = [review(name, paper, lookup) for name, paper in known.items() if here & set(paper.datasets)]
    shown = [found for found in reviews if found.shown]
    return tuple(sorted(shown, key=lambda each: (-each.compared, -len(each.shown), each.paper.cite)))


def figure_specs(reviews: Iterable[Review]) -> Iterator[FigureSpec]:
    """The figures of all papers, in the order of the page."""
    return (spec for found in reviews for _, made in found.shown for spec in made.figures)
