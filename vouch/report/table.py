"""Tables as a page shows them, and the columns that hold numbers of the leaderboard."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from vouch.metrics.metric import OPTIONS, SHARE, Metric, find, metrics
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.report import formatting
from vouch.report.blind import NOTE
from vouch.report.evidence import Evidence
from vouch.report.gates import ends
from vouch.report.numbers import Number
from vouch.tables import HEADLINE

Tone = Literal["", "good", "bad", "strong", "quiet"]


@dataclass(frozen=True)
class Range:
    """A small drawing of a value in its interval, in per cent of the cell's width."""

    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Cell:
    """text: the text shown. note: small print after it. key: the value to sort by; `text` if None.

    shade: of a heat map, a colour of page.css. link: an address, to which the text leads.
    """

    text: str
    note: str = ""
    key: float | None = None
    range: Range | None = None
    tone: Tone = ""
    shade: str = ""
    link: str = ""


@dataclass(frozen=True)
class Column:
    """label: heading. help: one sentence that explains it. numeric: aligned right."""

    label: str
    help: str = ""
    numeric: bool = False


@dataclass(frozen=True)
class Grid:
    """A table with a caption; the first column names the row. heat: drawn compactly, as a heat map."""

    kind: ClassVar[str] = "grid"
    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]] = field(default_factory=tuple)
    heat: bool = False


MISSING = Cell("–", key=-1e308, tone="quiet")


def interval(
    value: float, low: float | None, high: float | None, digits: int, scale: float = 1.0, tone: Tone = ""
) -> Cell:
    """A number with its interval in small print."""
    low, high = ends(low, high)
    note = "" if low is None or high is None else formatting.span(low, high, digits, scale)
    return Cell(formatting.number(scale * value, digits), note, value, tone=tone)


def figure(number: Number | None, digits: int, scale: float = 1.0) -> Cell:
    """A number of the leaderboard with its interval; a dash if it is missing."""
    return MISSING if number is None else interval(number.value, number.low, number.high, digits, scale)


def rank_cell(number: Number | None, exact: bool = False) -> Cell:
    """The ranks that the intervals allow or, with `exact`, only the rank; a dash if there is none."""
    if number is None or number.rank is None:
        return MISSING
    text = str(number.rank) if exact else formatting.ranks(number.rank_low, number.rank_high)
    return Cell(text, key=number.rank)


def whole(value: int) -> Cell:
    """A count as a cell."""
    return Cell(formatting.count(value), key=value)


def rounded(value: float | None, digits: int, scale: float = 1.0) -> Cell:
    """A number without an interval; a dash if it is missing."""
    if value is None or value != value:  # only NaN differs from itself
        return MISSING
    return Cell(formatting.number(scale * value, digits), key=float(value))


def model_cell(evidence: Evidence, dataset: str, model: str, tone: Tone = "") -> Cell:
    """The name of a model; small print says if it is a blind baseline on a dataset."""
    return Cell(model, NOTE if evidence.is_blind(dataset, model) else "", tone=tone)


def percent(value: float | None) -> Cell:
    """A share in per cent, without an interval."""
    return rounded(value, 1, 100)


def cells(*values: Cell | str | int) -> list[Cell]:
    """A row; texts and counts become cells."""
    return [v if isinstance(v, Cell) else Cell(v) if isinstance(v, str) else whole(v) for v in values]


POINTS = (1, 100.0)
"""How shares are written: digits after the point, and the factor they are multiplied by."""
UNITS = {SHARE: POINTS, OPTIONS: (2, 1.0), "": (2, 1.0)}
OTHER = (3, 1.0)


@dataclass(frozen=True)
class Measured:
    """A column with one metric of the leaderboard, as the registry of metrics declares it.

    label, help: replace the declared ones. interval: whether it is shown, in small print. variation: the
    same in all rows. points: whether it is in percentage points. tone: gives the tone of a number.
    """

    metric: str
    score: str = ""
    label: str = ""
    help: str = ""
    protocol: str = "clean"
    interval: bool = True
    variation: str = ""
    points: bool = False
    tone: Callable[[Evidence, Number], Tone] = lambda evidence, number: ""

    @property
    def declared(self) -> Metric:
        """The metric as the registry declares it. Raises UserError if it does not."""
        declared = find(self.metric)
        if declared is None:
            hint = did_you_mean(self.metric, list(metrics()))
            raise UserError(f"a column of the report: unknown metric {self.metric}; {hint}; correct its name")
        return declared

    @property
    def unit(self) -> tuple[int, float]:
        """How its numbers are written: shares in per cent."""
        return POINTS if self.points else UNITS.get(self.declared.unit, OTHER)

    @property
    def column(self) -> Column:
        """Its heading, with the score of prediction sets."""
        metric = self.declared
        score = f" {self.score.upper()}" if self.score in HEADLINE else ""
        label = f"{metric.label}{score}{' %' if metric.unit == SHARE else ''}"
        return Column(self.label or label, self.help or metric.help, True)

    def number(self, evidence: Evidence, dataset: str, model: str, **where: str) -> Number | None:
        """Its number, if the gates let it be shown. where: keywords of `Evidence.number`, which override the
        column's score and protocol."""
        fixed = {"variation": self.variation} if self.variation else {}
        keys = {"score": self.score, "protocol": self.protocol} | where | fixed
        of_rate = {name: value for name, value in keys.items() if name != "score"}
        if self.declared.of_sets and not evidence.calibrated(dataset, model, **of_rate):
            return None
        return evidence.number(dataset, model, self.metric, **keys)

    def cell(self, evidence: Evidence, dataset: str, model: str, **where: str) -> Cell:
        """Its number as a cell; a dash if it is missing."""
        number = self.number(evidence, dataset, model, **where)
        if number is None:
            return MISSING
        ends = (number.low, number.high) if self.interval else (None, None)
        return interval(number.value, *ends, *self.unit, self.tone(evidence, number))

    def cell_of(self, evidence: Evidence, dataset: str, items: int, **where: str) -> Cell:
        """The same in a row about so many items; small print says if the number rests on more or fewer."""
        cell, number = self.cell(evidence, dataset, **where), self.number(evidence, dataset, **where)
        if number is None or number.items == items:
            return cell
        own = f"of {formatting.count(number.items)}"
        return replace(cell, note=f"{cell.note}; {own}" if cell.note else own)


ITEMS = Column("Items", "number of questions that the numbers rest on, if small print names no other", True)
Row = tuple[Sequence[Cell | str | int], Mapping[str, str]]
"""The cells that name a row, and the keywords of `Evidence.number` for its numbers."""


@dataclass(frozen=True)
class TableSpec:
    """A table of numbers of the leaderboard, the same for every dataset.

    name: of its files. caption: the text after `DATASET: `. keys: columns that name a row. The next column is
    the number of items behind the first number of the row.
    """

    name: str
    caption: str
    keys: Sequence[Column]
    measures: Sequence[Measured]

    def grid(self, evidence: Evidence, dataset: str, rows: Iterable[Row] | None = None) -> Grid:
        """The table of a dataset. rows: by default, one for each model."""
        if rows is None:
            models = evidence.models(dataset)
            rows = [((model_cell(evidence, dataset, model),), {"model": model}) for model in models]
        body = []
        for names, where in rows:
            items = self._items(evidence, dataset, where)
            numbers = (each.cell_of(evidence, dataset, items or 0, **where) for each in self.measures)
            body.append([*cells(*names, items or MISSING), *numbers])
        columns = [*self.keys, ITEMS, *(each.column for each in self.measures)]
        return Grid(self.name, f"{dataset}: {self.caption}", columns, body)

    def _items(self, evidence: Evidence, dataset: str, where: Mapping[str, str]) -> int | None:
        own = [each for each in self.measures if not each.variation] or self.measures
        found = (each.number(evidence, dataset, **where) for each in own)
        return next((number.items for number in found if number), None)

    def known(self, evidence: Evidence, dataset: str) -> "TableSpec":
        """The same table without the columns in which no model has a number."""
        models = evidence.models(dataset)
        found = [m for m in self.measures if any(m.number(evidence, dataset, model) for model in models)]
        return replace(self, measures=found)


def ranges(numbers: Sequence[Number | None]) -> list[Range | None]:
    """The position of each value and its interval on a scale from the smallest to the largest of all."""
    known = [n for n in numbers if n is not None]
    edges = [edge for n in known for edge in (n.value, n.low, n.high) if edge is not None]
    if len(known) < 2 or min(edges) == max(edges):
        return [None] * len(numbers)
    start, width = min(edges), max(edges) - min(edges)

    def drawn(number: Number | None) -> Range | None:
        if number is None or number.low is None or number.high is None:
            return None
        ends = (number.low, number.value, number.high)
        return Range(*(round(100 * (end - start) / width, 2) for end in ends))

    return [drawn(number) for number in numbers]
