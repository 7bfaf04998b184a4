"""Published cells: what a paper printed, and beside it what its authors released in full precision."""

import re
from collections.abc import Iterable, Mapping, Sequence

from vouch.report.reproduce.lookup import Lookup, Measure
from vouch.report.reproduce.pivot import Key, Print, rounded

CELL = re.compile(r"(?P<value>-?\d+(?:\.\d+)?)(?: \((?P<rank>\d+)\))?")


def cell(text: str) -> Print | None:
    """`76.75 (2)`; None where the paper has no number."""
    found = CELL.fullmatch(text)
    return Print(found["value"], int(found["rank"]) if found["rank"] else None) if found else None


def of_file(
    lookup: Lookup,
    file: str,
    chosen: Mapping[str, str],
    measures: Mapping[str, int],
    rows: Mapping[str, str],
    columns: Mapping[str, str],
    named: Sequence[str] = ("metric", "model"),
) -> dict[Key, Print]:
    """Cells of a wide file of docs/published.

    chosen: columns that pick rows of the file, by their value. measures: what the column `named[0]` holds
    to the place of the measure. rows: our keys to what the column `named[1]` holds. columns: ours to
    the file's.
    """
    frame = lookup.evidence.printed.get(file)
    if frame is None:
        return {}
    for name, value in chosen.items():
        frame = frame[frame[name] == value]
    ours = {name: key for key, name in rows.items()}
    found: dict[Key, Print] = {}
    for record in frame.to_dict("records"):
        place, key = measures.get(record[named[0]]), ours.get(record[named[1]])
        if place is None or key is None:
            continue
        for column, label in columns.items():
            printed = cell(record.get(label, ""))
            if printed is not None:
                found[place, key, column] = printed
    return found


def released(
    lookup: Lookup, measures: Sequence[Measure], names: Mapping[tuple[str, str], str]
) -> dict[Key, Print]:
    """The numbers of `reproduced` rounded as the measures are printed. names: (score, metric) to theirs."""
    frame = lookup.evidence.reproduced
    places: dict[str, list[int]] = {}
    for place, measure in enumerate(measures):
        places.setdefault(names.get((measure.score, measure.metric), ""), []).append(place)
    rows: Iterable[tuple[str, str, str, float]] = zip(
        *(frame[name] for name in ("dataset", "model", "metric", "published")), strict=True
    )
    return {
        (place, model, dataset): Print(rounded(value, measures[place]))
        for dataset, model, metric, value in rows
        for place in places.get(metric, ())
    }
