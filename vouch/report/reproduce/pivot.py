"""Long frames as the tables of the papers: rows by measures and columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from vouch.report import formatting
from vouch.report.reproduce.entry import Absent, Built
from vouch.report.reproduce.lookup import Measure
from vouch.report.table import MISSING, Cell, Column, Grid

Key = tuple[int, str, str]
"""measure, row, column"""


@dataclass(frozen=True)
class Print:
    """What a paper printed in a cell. rank: None where it gave none. source: the file it stands in."""

    value: str
    rank: int | None = None


@dataclass(frozen=True)
class Layout:
    """How a table of a paper is laid out.

    name: unique among all tables. row: what the first column holds. rows, columns: keys to labels, in order.
    peers: the rows among which the paper ranks; all where none of them is here. prints: published cells.
    help: by column. ranked: whether the paper prints ranks.
    """

    name: str
    caption: str
    measures: Sequence[Measure]
    rows: Mapping[str, str]
    columns: Mapping[str, str]
    row: str = "Model"
    peers: Sequence[str] = ()
    prints: Mapping[Key, Print] = field(default_factory=dict)
    help: Mapping[str, str] = field(default_factory=dict)
    ranked: bool = True


def rounded(value: float, measure: Measure) -> str:
    """A value as the paper prints it, with an ordinary minus sign."""
    text = f"{measure.scale * value:.{measure.digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def ranks(values: Mapping[str, float], measure: Measure) -> dict[str, int]:
    """Competition ranks of the printed, rounded values: equals share the best place."""
    if not measure.better:
        return {}
    seen = {key: float(rounded(value, measure)) for key, value in values.items()}
    frame = pd.Series(seen, dtype=float).rank(method="min", ascending=measure.better == "low")
    return {str(key): int(rank) for key, rank in frame.items()}


def _values(frame: pd.DataFrame, row: str, column: str) -> dict[Key, dict[str, float]]:
    keys = zip(frame["measure"], frame[row], frame[column], strict=True)
    return dict(zip(keys, frame.to_dict("records"), strict=True))


def _known(value: object) -> bool:
    return value is not None and not pd.isna(value)


def _clean(found: Mapping[str, float], measure: Measure) -> str:
    """The clean twin in small print: `clean 76.5 (74.9–78.1), rank 2–5`."""
    if measure.only or not _known(found.get("clean")):
        return ""
    said = f"clean {formatting.number(measure.scale * found['clean'], measure.digits)}"
    if _known(found.get("low")) and _known(found.get("high")):
        said += formatting.bracketed(found["low"], found["high"], measure.digits, measure.scale)
    if measure.better and _known(found.get("rank_low")) and _known(found.get("rank_high")):
        said += f", rank {formatting.ranks(int(found['rank_low']), int(found['rank_high']))}"
    return said


def agrees(value: float, measure: Measure, printed: str) -> bool:
    """Whether a value is the printed one to the printed digit; `2.7` stands for `2.70`."""
    return rounded(value, measure) == f"{float(printed):.{measure.digits}f}"


def _cell(
    found: Mapping[str, float] | None, measure: Measure, rank: int | None, printed: Print | None
) -> Cell:
    if found is None or not (_known(found["value"]) or _known(found.get("clean"))):
        return MISSING
    note = _clean(found, measure)
    if not _known(found["value"]):
        return Cell("–", note, tone="quiet", key=-1e308)
    value = float(found["value"])
    if measure.only and _known(found.get("low")) and _known(found.get("high")):
        note = formatting.span(found["low"], found["high"], measure.digits, measure.scale)
    text = formatting.number(measure.scale * value, measure.digits)
    if rank is not None:
        text += f" ({rank})"
    same = printed is not None and agrees(value, measure, printed.value)
    if printed is not None and not same:
        note += f"{'; ' if note else ''}published {printed.value}"
    return Cell(text, note, value, tone="good" if same else "")


def _ranked(layout: Layout, found: Mapping[Key, Mapping[str, float]], peers: Sequence[str]) -> dict[Key, int]:
    placed: dict[Key, int] = {}
    for place, measure in enumerate(layout.measures):
        for column in layout.columns:
            values = {
                row: float(found[place, row, column]["value"])
                for row in peers
                if (place, row, column) in found and _known(found[place, row, column]["value"])
            }
            if len(values) > 1:
                placed |= {(place, row, column): rank for row, rank in ranks(values, measure).items()}
    return placed


def pivot(frame: pd.DataFrame, layout: Layout, row: str = "model", column: str = "dataset") -> Built:
    """The table, and beside it the published figures where there are any.

    frame: `measure`, `row`, `column`, and value; optionally clean, low, high, rank_low, rank_high. Rows and
    columns without any number are left out. Raises Absent where nothing is left.
    """
    found = _values(frame, row, column)
    held = {(place, name) for place, _, name in found}
    rows = [name for name in layout.rows if name in set(frame[row])]
    heads = [
        (place, name)
        for place in range(len(layout.measures))
        for name in layout.columns
        if (place, name) in held
    ]
    if not rows or not heads:
        raise Absent("nothing of it was measured")
    peers = [name for name in layout.peers if name in rows] or rows
    ranked = _ranked(layout, found, peers) if layout.ranked else {}
    columns = [Column(layout.row), *(_head(layout, place, name) for place, name in heads)]
    body = []
    for name in rows:
        label = layout.rows[name]
        cells = [Cell(label, "" if label == name else name, tone="strong")]
        for place, head in heads:
            key = (place, name, head)
            cells.append(
                _cell(found.get(key), layout.measures[place], ranked.get(key), layout.prints.get(key))
            )
        body.append(cells)
    grid = Grid(layout.name, layout.caption, columns, body)
    beside, said = published(layout, found, ranked)
    return Built((grid, *beside), sentences=said)


def _head(layout: Layout, place: int, name: str) -> Column:
    measure, label = layout.measures[place], layout.columns[name]
    protocol = "clean protocol" if measure.only else "faithful protocol; the clean one in small print"
    said = {"high": "higher is better", "low": "lower is better", "": ""}[measure.better]
    help = "; ".join(part for part in (layout.help.get(name, ""), said, protocol) if part)
    return Column(f"{measure.label} {label}", help, True)


def published(
    layout: Layout, found: Mapping[Key, Mapping[str, float]], ranked: Mapping[Key, int]
) -> tuple[Sequence[Grid], Sequence[str]]:
    """Every published cell that has one of ours beside it, and how many agree."""
    columns = [Column(layout.row), Column("Column"), Column("Measure")]
    columns += [
        Column(label, "", True)
        for label in ("Published", "Ours", "Difference", "Rank, published", "Rank, ours")
    ]
    order = {name: place for place, name in enumerate((*layout.rows, *layout.columns))}
    keys = [k for k in layout.prints if k in found and _known(found[k]["value"]) and k[1] in layout.rows]
    keys = sorted((k for k in keys if k[2] in layout.columns), key=lambda k: (k[0], order[k[1]], order[k[2]]))
    body, same, placed, alike = [], 0, 0, 0
    for key in keys:
        measure, printed = layout.measures[key[0]], layout.prints[key]
        value, rank = float(found[key]["value"]), ranked.get(key) if printed.rank else None
        fits = agrees(value, measure, printed.value)
        same += fits
        placed += rank is not None
        alike += rank is not None and rank == printed.rank
        body.append(_beside(layout, key, value, rank))
    if not body:
        return (), ()
    every = formatting.plural(len(body), "published figure")
    said = f"{formatting.count(same)} of {every} agree to the printed digit"
    said += f", {alike} of {formatting.plural(placed, 'published rank')}." if placed else "."
    caption = f"{layout.caption}: published beside ours"
    return (Grid(f"{layout.name}-published", caption, columns, body),), (said,)


def _beside(layout: Layout, key: Key, value: float, rank: int | None) -> list[Cell]:
    """A published cell and ours, in the columns of `published`."""
    place, row, column = key
    measure, printed = layout.measures[place], layout.prints[key]
    fits = agrees(value, measure, printed.value)
    gap = measure.scale * value - float(printed.value)
    ours = formatting.number(measure.scale * value, measure.digits)
    return [
        Cell(layout.rows[row], row),
        Cell(layout.columns[column]),
        Cell(measure.label),
        Cell(printed.value, key=float(printed.value)),
        Cell(ours, key=value, tone="good" if fits else ""),
        Cell("0" if fits else formatting.number(gap, measure.digits + 1), key=0.0 if fits else gap),
        Cell(str(printed.rank), key=printed.rank) if printed.rank else MISSING,
        Cell(str(rank), key=rank) if rank else MISSING,
    ]
