"""Datasets: what was asked, what cleaning found, what was left out."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import pandas as pd

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.grid import MISSING, Cell, Column, Grid, whole
from vouch.tables.defects import KNOWN, TREATMENTS

TITLE = "Items"
MOST_REASONS = 50


@dataclass(frozen=True)
class Data:
    """findings: the defects that were there. rejects: entries that became no items, by reason.

    absent: the defects that were looked for in vain.
    """

    overview: Grid
    findings: Grid | None
    rejects: Grid | None
    absent: tuple[str, ...]


def build(evidence: Evidence) -> Data:
    """All datasets, also those that no model has been scored on."""
    names = sorted(set(evidence.items["dataset"]) | set(evidence.rejects["dataset"]))
    absent = tuple(filter(None, (_not_found(evidence, name) for name in names)))
    return Data(_overview(evidence, names), _findings(evidence), _rejects(evidence), absent)


def _spread(counts: pd.Series) -> str:
    """`4 (3,911), 3 (288)`: most frequent first."""
    tally = counts.value_counts()
    ordered = sorted(((int(n), int(k)) for k, n in tally.items()), key=lambda pair: (-pair[0], pair[1]))
    return ", ".join(f"{k or 'none'} ({formatting.count(n)})" for n, k in ordered) or "–"


def _overview(evidence: Evidence, names: list[str]) -> Grid:
    columns = (
        Column("Dataset"),
        Column("Items", "", True),
        Column("Groups", "items of a group are never split between calibration and test", True),
        Column("Images", "distinct pictures", True),
        Column("Categories", "", True),
        Column("Options", "number of native options (items)"),
        Column("Flagged", "items in which cleaning found something", True),
        Column("Left out", "entries of the source that became no item", True),
        Column("Chance ±", "points that the coverage of one split may stray from the target by chance", True),
    )
    rows = []
    for name in names:
        items = evidence.items[evidence.items["dataset"] == name]
        images = {digest for digests in items["images"] for digest in digests}
        rows.append(
            (
                Cell(name),
                whole(len(items)),
                whole(items["group"].nunique()),
                whole(len(images)),
                whole(items.loc[items["category"] != "", "category"].nunique()),
                Cell(_spread(items["options"].map(len))),
                whole(int((items["flags"].map(len) > 0).sum())),
                whole(int((evidence.rejects["dataset"] == name).sum())),
                _stray(evidence, int(items["group"].nunique())),
            )
        )
    return Grid("datasets", "Items, and what is wrong with them", columns, rows)


def _findings(evidence: Evidence) -> Grid | None:
    found = evidence.defects[evidence.defects["items"] > 0]
    if found.empty:
        return None
    columns = (
        Column("Dataset"),
        Column("Found", "docs/cleaning.md says how, and how sure it is"),
        Column("Items", "", True),
        Column("Share", "per cent of the dataset's items", True),
        Column("For example", "ids of the first of them"),
        Column("Clean reading", "; ".join(f"{name}: {text}" for name, text in TREATMENTS.items())),
    )
    rows = [_finding(row) for row in found.sort_values("dataset", kind="stable").itertuples()]
    return Grid("flags", "What cleaning found", columns, rows)


def _finding(row: Any) -> tuple[Cell, ...]:
    meaning = KNOWN[row.defect].meaning if row.defect in KNOWN else ""
    parts = [meaning, row.detail, "" if pd.isna(row.p_value) else f"p {formatting.p_value(row.p_value)}"]
    return (
        Cell(row.dataset),
        Cell(row.defect.replace("_", " "), "; ".join(filter(None, parts))),
        whole(int(row.items)),
        Cell(formatting.number(100 * row.share, 1), key=float(row.share)),
        Cell(", ".join(row.examples)),
        Cell(row.treatment, tone="bad" if row.treatment in ("dropped", "left out") else ""),
    )


def _rejects(evidence: Evidence) -> Grid | None:
    if evidence.rejects.empty:
        return None
    groups = evidence.rejects.groupby(["dataset", "reason"])
    found = sorted(((len(g), key, g["where"].iloc[0]) for key, g in groups), key=lambda x: (-x[0], x[1]))
    columns = (Column("Dataset"), Column("Reason"), Column("Entries", "", True), Column("The first of them"))
    rows = [(Cell(d), Cell(reason), whole(n), Cell(where)) for n, (d, reason), where in found[:MOST_REASONS]]
    caption = "What was left out"
    if len(found) > MOST_REASONS:
        caption += f": the {MOST_REASONS} most frequent of {formatting.plural(len(found), 'reason')}"
    return Grid("rejects", caption, columns, rows)


def _stray(evidence: Evidence, groups: int) -> Cell:
    """How far chance alone moves the coverage of one split: it has a beta-binomial distribution."""
    calibrating = int(evidence.scoring.calibration * groups)
    if not calibrating:
        return MISSING
    alpha, testing = evidence.scoring.alpha, groups - calibrating
    stray = 1.96 * sqrt(alpha * (1 - alpha) * (1 / (calibrating + 2) + 1 / max(testing, 1)))
    return Cell(formatting.number(100 * stray, 1), key=stray)


def _not_found(evidence: Evidence, dataset: str) -> str:
    """Defects that were looked for in vain: their absence is a result, too."""
    here = evidence.defects[(evidence.defects["dataset"] == dataset) & (evidence.defects["items"] == 0)]
    if here.empty:
        return ""
    return f"{dataset}: looked for and not found: " + ", ".join(here["defect"].str.replace("_", " ")) + "."
