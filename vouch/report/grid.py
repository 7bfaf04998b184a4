"""A table as the page shows it: what the template needs and nothing it would have to work out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from vouch.report import formatting
from vouch.report.numbers import Number

Tone = Literal["", "good", "bad", "strong", "quiet"]


@dataclass(frozen=True)
class Range:
    """A small drawing of a value in its interval: per cent of the cell's width."""

    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Cell:
    """text: what is read. note: in small print after it. key: what the column sorts by, `text` if None."""

    text: str
    note: str = ""
    key: float | None = None
    range: Range | None = None
    tone: Tone = ""


@dataclass(frozen=True)
class Column:
    """label: heading. help: one sentence that explains it. numeric: aligned right."""

    label: str
    help: str = ""
    numeric: bool = False


@dataclass(frozen=True)
class Grid:
    """A table with a caption; the first column names the row."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]] = field(default_factory=tuple)


MISSING = Cell("–", key=-1e308, tone="quiet")


def figure(number: Number | None, digits: int, scale: float = 1.0, interval: bool = True) -> Cell:
    """A number with its interval in small print; a dash where it is missing."""
    if number is None:
        return MISSING
    note = ""
    if interval and number.low is not None and number.high is not None:
        note = formatting.span(number.low, number.high, digits, scale)
    return Cell(formatting.number(scale * number.value, digits), note, number.value)


def whole(value: int) -> Cell:
    """A count."""
    return Cell(formatting.count(value), key=value)


def ranges(numbers: Sequence[Number | None]) -> list[Range | None]:
    """Where each value and its interval lie between the least and the greatest of all of them."""
    known = [n for n in numbers if n is not None]
    edges = [edge for n in known for edge in (n.value, n.low, n.high) if edge is not None]
    if len(known) < 2 or min(edges) == max(edges):
        return [None] * len(numbers)
    start, width = min(edges), max(edges) - min(edges)

    def place(value: float) -> float:
        return round(100 * (value - start) / width, 2)

    return [
        None
        if n is None or n.low is None or n.high is None
        else Range(place(n.low), place(n.value), place(n.high))
        for n in numbers
    ]
