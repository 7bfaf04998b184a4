"""A table or figure of a paper, and what became of it here."""

import csv
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from importlib.resources import files

from vouch.report.figures import FigureSpec
from vouch.report.reproduce.lookup import Absent, Lookup
from vouch.report.table import Cell, Column, Grid
from vouch.report.vegalite import Chart


@dataclass(frozen=True)
class Built:
    """What a builder returns. beside: published figures beside ours. sentences: what a reader should know.

    Names of tables are what tells those of one entry apart, as `-likelihood`, and titles of figures may start
    with the part of the figure, as ` (a): `: `Entry.built` puts the number in the paper before both.
    """

    grids: Sequence[Grid] = ()
    beside: Sequence[Grid] = ()
    figures: Sequence[FigureSpec] = ()
    sentences: Sequence[str] = ()


def figure(title: str, description: str, chart: Chart, part: str = "") -> Built:
    """One figure. description: the picture in words. part: `(a)` of a figure that has several."""
    title = f"{part and ' ' + part}: {title}"
    return Built(figures=(FigureSpec("of-paper", "", title, "", description, chart),))


def models(paper: str) -> dict[str, str]:
    """The models that a paper has, in its order: our name to its label (papers/models.csv)."""
    with files("vouch.report.papers").joinpath("models.csv").open(encoding="utf-8") as file:
        return {row["model"]: row["label"] for row in csv.DictReader(file) if row["paper"] == paper}


def listing(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], reason: str) -> Built:
    """One table of cells. Raises Absent with the reason where it has no row."""
    if not rows:
        raise Absent(reason)
    return Built((Grid("", caption, columns, rows),))


def named(name: str, label: str) -> Cell:
    """The paper's label of a model, dataset or prompt, with our name in small print where that is another."""
    return Cell(label, "" if label == name else name)


def joined(parts: Iterable[Built], reason: str = "nothing of it was measured") -> Built:
    """Several results as one. Raises Absent with the reason where there is none."""
    parts = tuple(parts)
    if not parts:
        raise Absent(reason)
    return Built(*([each for part in parts for each in getattr(part, f.name)] for f in fields(Built)))


def absent(reason: str) -> Callable[[Lookup], Built]:
    """A builder of what can be built nowhere. reason: see Absent."""

    def build(_: Lookup) -> Built:
        raise Absent(reason)

    return build


@dataclass(frozen=True)
class Entry:
    """name: as in the paper, `Table IV`. shows: one sentence. build: raises Absent."""

    name: str
    shows: str
    build: Callable[[Lookup], Built]

    @property
    def anchor(self) -> str:
        """`Table IV` -> `table-iv`."""
        return self.name.lower().replace(" ", "-")

    def built(self, slug: str, lookup: Lookup) -> Built:
        """What is built, under the number in the paper. slug: of the paper. Raises Absent."""
        made = self.build(lookup)
        place, number = f"{slug}-{self.anchor}", self.name.replace("Figure", "Fig.")

        def numbered(grids: Sequence[Grid]) -> list[Grid]:
            return [replace(g, name=f"{place}{g.name}", caption=f"{number}: {g.caption}") for g in grids]

        figures = [
            replace(spec, file=f"{place}-{part}", title=f"{number}{spec.title}")
            for part, spec in enumerate(made.figures, start=1)
        ]
        return Built(numbered(made.grids), numbered(made.beside), figures, made.sentences)


@dataclass(frozen=True)
class Paper:
    """title, cite: how it is named. note: what its tables here rest on, a sentence or two.

    datasets: its own, of which one must have scores here for the paper to be shown.
    """

    title: str
    cite: str
    note: str
    entries: Sequence[Entry]
    datasets: Collection[str]
