"""Turns long frames into the tables of the papers, and puts the published numbers next to ours."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import pandas as pd

from vouch.papers.entry import COLUMNS, MEAN, Absent, Built, Lookup, Measure, named, with_mean
from vouch.report import formatting
from vouch.report.table import MISSING, Cell, Column, Grid

Key = tuple[int, str, str]
"""measure, row, column"""
Found = Mapping[Key, Mapping[str, Any]]
CELL = re.compile(r"(?P<value>-?\d+(?:\.\d+)?)(?: \((?P<rank>\d+)\))?")
"""A published number, `76.75`, or one with its rank, `76.75 (2)`."""
SHADES = 4
"""Colours of page.css, `gain-1` the palest."""


class Print(NamedTuple):
    """A cell as a paper printed it. rank: None if it gave none."""

    value: str
    rank: int | None


@dataclass(frozen=True)
class Layout:
    """How a table of a paper is laid out.

    rows, columns: key -> label, in order. name: a suffix that is unique in an entry, as `-likelihood`. row:
    heading of the first column. peers: the rows that the paper ranks; all rows if none of them is here.
    prints: published cells, as printed; cells that are not numbers are ignored. help: by column. ranked:
    whether the paper prints ranks.
    """

    caption: str
    measures: Sequence[Measure]
    rows: Mapping[str, str]
    columns: Mapping[str, str]
    name: str = ""
    row: str = "Model"
    peers: Sequence[str] = ()
    prints: Mapping[Key, str] = field(default_factory=dict)
    help: Mapping[str, str] = field(default_factory=dict)
    ranked: bool = False


def rounded(value: float, measure: Measure) -> str:
    """A value as the paper prints it, with an ordinary minus sign."""
    text = f"{measure.scale * value:.{measure.digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def agrees(value: float, measure: Measure, printed: Print) -> bool:
    """Whether a value, rounded as in print, equals the printed one; `2.7` means `2.70`."""
    return rounded(value, measure) == f"{float(printed.value):.{measure.digits}f}"


def ranks(values: Mapping[str, float], measure: Measure) -> dict[str, int]:
    """Competition ranks of the rounded values: ties share the best rank."""
    if not measure.better:
        return {}
    seen = {key: float(rounded(value, measure)) for key, value in values.items()}
    frame = pd.Series(seen, dtype=float).rank(method="min", ascending=measure.better == "low")
    return {str(key): int(rank) for key, rank in frame.items()}


def rank_shade(rank: int, count: int) -> str:
    """The colour of a rank among so many: the better the darker."""
    return f"gain-{1 + SHADES * (count - rank) // count}"


def pivot(frame: pd.DataFrame, layout: Layout) -> Built:
    """The table, and a second one with the published numbers, if there are any.

    frame: `measure`, `model` (the row), `dataset` (the column) and value; if known, also clean, low, high,
    rank_low and rank_high. Rows and columns without a number are left out. Raises Absent if nothing is left.
    """
    records = frame.reindex(columns=["measure", "model", "dataset", *COLUMNS]).to_dict("records")
    found: Found = {(each["measure"], each["model"], each["dataset"]): each for each in records}
    held = {(place, column) for place, _, column in found}
    rows = [name for name in layout.rows if name in set(frame["model"])]
    heads = [head for head in product(range(len(layout.measures)), layout.columns) if head in held]
    if not rows or not heads:
        raise Absent("nothing of this was measured")
    prints = {key: printed for key, text in layout.prints.items() if (printed := _print(text))}
    peers = [name for name in layout.peers if name in rows] or rows
    ranked = _ranked(layout, found, peers)
    columns = [Column(layout.row), *(_head(layout, place, name) for place, name in heads)]
    body = []
    for row in rows:
        cells = [named(row, layout.rows[row])]
        for place, column in heads:
            key = (place, row, column)
            cell = _cell(found.get(key), layout.measures[place], ranked.get(key), prints.get(key))
            cells.append(replace(cell, shade=rank_shade(ranked[key], len(peers))) if key in ranked else cell)
        body.append(cells)
    beside = _published(layout, found, ranked, prints)
    return replace(beside, grids=(Grid(layout.name, layout.caption, columns, body),))


def by_dataset(lookup: Lookup, frame: pd.DataFrame, names: Mapping[str, str], layout: Layout) -> Built:
    """The usual table of a paper: a column for each dataset, and the mean over the paper's own datasets
    (`Lookup.own`).

    names: the paper's datasets and their labels. layout: this adds its columns and the mean's help.
    Published means are compared only if all of the paper's datasets are here.
    """
    asked = set(frame["dataset"])
    over = tuple(dataset for dataset in lookup.own(names) if dataset in asked)
    return pivot(
        with_mean(frame, over),
        replace(
            layout,
            columns=lookup.datasets(names) | {MEAN: MEAN},
            prints={k: text for k, text in layout.prints.items() if k[2] != MEAN or set(over) == set(names)},
            help={MEAN: f"mean over {formatting.listed(over, 9)}"},
        ),
    )


def _print(text: str) -> Print | None:
    found = CELL.fullmatch(text)
    return Print(found["value"], int(found["rank"]) if found["rank"] else None) if found else None


def _ranked(layout: Layout, found: Found, peers: Sequence[str]) -> dict[Key, int]:
    placed: dict[Key, int] = {}
    for place, column in product(range(len(layout.measures)) if layout.ranked else (), layout.columns):
        keys = [(place, row, column) for row in peers if (place, row, column) in found]
        values = {key[1]: float(found[key]["value"]) for key in keys if pd.notna(found[key]["value"])}
        if len(values) > 1:
            better = layout.measures[place]
            placed |= {(place, row, column): rank for row, rank in ranks(values, better).items()}
    return placed


def _head(layout: Layout, place: int, name: str) -> Column:
    measure = layout.measures[place]
    protocol = "clean protocol" if measure.only else "faithful protocol; in small print the clean one"
    description = {"high": "higher is better", "low": "lower is better", "": ""}[measure.better]
    help = "; ".join(part for part in (layout.help.get(name, ""), description, protocol) if part)
    return Column(f"{measure.label} {layout.columns[name]}", help, True)


def _cell(found: Mapping[str, Any] | None, measure: Measure, rank: int | None, printed: Print | None) -> Cell:
    if found is None or (pd.isna(found["value"]) and pd.isna(found["clean"])):
        return MISSING
    note = _clean(found, measure)
    if pd.isna(found["value"]):
        return replace(MISSING, note=note)
    value = float(found["value"])
    if measure.only and pd.notna(found["low"]) and pd.notna(found["high"]):
        note = formatting.span(found["low"], found["high"], measure.digits, measure.scale)
    text = formatting.number(measure.scale * value, measure.digits)
    if rank is not None:
        text += f" ({rank})"
    same = printed is not None and agrees(value, measure, printed)
    if printed is not None and not same:
        note += f"{'; ' if note else ''}published {printed.value}"
    return Cell(text, note, value, tone="good" if same else "")


def _clean(found: Mapping[str, Any], measure: Measure) -> str:
    """The number of the clean protocol, for small print: `clean 76.5 (74.9–78.1), rank 2–5`."""
    if measure.only or pd.isna(found["clean"]):
        return ""
    description = f"clean {formatting.number(measure.scale * found['clean'], measure.digits)}"
    if pd.notna(found["low"]) and pd.notna(found["high"]):
        description += formatting.bracketed(found["low"], found["high"], measure.digits, measure.scale)
    if measure.better and pd.notna(found["rank_low"]) and pd.notna(found["rank_high"]):
        description += f", rank {formatting.ranks(int(found['rank_low']), int(found['rank_high']))}"
    return description


def _published(layout: Layout, found: Found, ranked: Mapping[Key, int], prints: Mapping[Key, Print]) -> Built:
    """Every published cell for which we have a number, and how many agree."""
    body, same, placed, alike = [], 0, 0, 0
    for key in product(range(len(layout.measures)), layout.rows, layout.columns):
        printed = prints.get(key)
        if printed is None or key not in found or pd.isna(found[key]["value"]):
            continue
        measure, value = layout.measures[key[0]], float(found[key]["value"])
        rank = ranked.get(key) if printed.rank else None
        fits = agrees(value, measure, printed)
        gap = measure.scale * value - float(printed.value)
        same += fits
        placed += rank is not None
        alike += rank is not None and rank == printed.rank
        body.append(
            [
                Cell(layout.rows[key[1]], key[1]),
                Cell(layout.columns[key[2]]),
                Cell(measure.label),
                Cell(printed.value, key=float(printed.value)),
                Cell(
                    formatting.number(measure.scale * value, measure.digits),
                    key=value,
                    tone="good" if fits else "",
                ),
                Cell("0" if fits else formatting.number(gap, measure.digits + 1), key=0.0 if fits else gap),
                Cell(str(printed.rank), key=printed.rank) if printed.rank else MISSING,
                Cell(str(rank), key=rank) if rank else MISSING,
            ]
        )
    if not body:
        return Built()
    texts = [Column(label) for label in (layout.row, "Column", "Measure")]
    numbers = ("Published", "Ours", "Difference", "Rank, published", "Rank, ours")
    columns = [*texts, *(Column(label, "", True) for label in numbers)]
    every = formatting.plural(len(body), "published number")
    description = f"{formatting.count(same)} of {every} agree to the printed digit"
    description += f", {alike} of {formatting.plural(placed, 'published rank')}." if placed else "."
    grid = Grid(f"{layout.name}-published", f"{layout.caption}: published and ours", columns, body)
    return Built(beside=(grid,), sentences=(description,))
