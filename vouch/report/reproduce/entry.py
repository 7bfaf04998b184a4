"""A table or figure of a paper, and what became of it here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vouch.report import formatting
from vouch.report.reproduce.lookup import Lookup
from vouch.report.table import Grid
from vouch.report.vegalite import Chart


class Absent(Exception):
    """Why a table or figure cannot be built here: a few words that follow `not here: `."""


@dataclass(frozen=True)
class Drawing:
    """description: the picture in words."""

    title: str
    description: str
    chart: Chart


@dataclass(frozen=True)
class Built:
    """What a builder returns. sentences: what a reader should know before the tables."""

    grids: Sequence[Grid] = ()
    drawings: Sequence[Drawing] = ()
    sentences: Sequence[str] = ()


def figure(number: str, title: str, description: str, chart: Chart) -> Built:
    """One figure under its number in the paper."""
    return Built(drawings=(Drawing(f"Fig. {number}: {title}", description, chart),))


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


@dataclass(frozen=True)
class Paper:
    """title, cite: how it is named. note: what its tables here rest on, a sentence or two."""

    title: str
    cite: str
    note: str
    entries: Sequence[Entry]


@dataclass(frozen=True)
class Review:
    """A paper's entries, sorted into what is here and what is not, in the order of the paper."""

    slug: str
    paper: Paper
    shown: Sequence[tuple[Entry, Built]] = field(default_factory=tuple)
    absent: Sequence[tuple[Entry, str]] = field(default_factory=tuple)

    @property
    def count(self) -> str:
        """`9 of 13 tables and figures`."""
        every = len(self.shown) + len(self.absent)
        return f"{formatting.count(len(self.shown))} of {formatting.count(every)} tables and figures"

    @property
    def reasons(self) -> Sequence[tuple[str, Sequence[str]]]:
        """Reasons with the names that they keep away, in the order of the paper."""
        found: dict[str, list[str]] = {}
        for entry, reason in self.absent:
            found.setdefault(reason, []).append(entry.name)
        return tuple((reason, tuple(names)) for reason, names in found.items())


def review(slug: str, paper: Paper, lookup: Lookup) -> Review:
    """Builds all that can be built."""
    shown, absent = [], []
    for entry in paper.entries:
        try:
            shown.append((entry, entry.build(lookup)))
        except Absent as reason:
            absent.append((entry, str(reason)))
    return Review(slug, paper, shown, absent)
