"""Datasets: what was asked, what cleaning found, what was left out."""

from math import sqrt
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.section import Block, Folded, Part, Section, Text, said
from vouch.report.table import MISSING, Cell, Column, Grid, cells, percent
from vouch.tables.asked import KNOWN, TREATMENTS

TITLE = "Items"
HEADING = "What was asked"
MOST_REASONS = 50


def build(evidence: Evidence) -> Section:
    """All datasets, also those that no model has been scored on."""
    names = sorted(set(evidence.items["dataset"]) | set(evidence.rejects["dataset"]))
    blocks: list[Block] = [_overview(evidence, names), *_findings(evidence), _rejects(evidence)]
    absent = said(_not_found(evidence, name) for name in names)
    if absent:
        blocks.append(Folded("What cleaning looked for and did not find", absent))
    return Section(HEADING, Markup(""), [Part("", blocks)])


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
        Column("Chance ±", "points by which the coverage of one split may miss the target by chance", True),
    )
    rows = []
    for name in names:
        items = evidence.items[evidence.items["dataset"] == name]
        groups = int(items["group"].nunique())
        rows.append(
            cells(
                name,
                len(items),
                groups,
                len({digest for digests in items["images"] for digest in digests}),
                items.loc[items["category"] != "", "category"].nunique(),
                _spread(items["options"].map(len)),
                int((items["flags"].map(len) > 0).sum()),
                int((evidence.rejects["dataset"] == name).sum()),
                _stray(evidence, groups),
            )
        )
    return Grid("datasets", "Items by dataset", columns, rows)


def _stray(evidence: Evidence, groups: int) -> Cell:
    """How far chance alone moves the coverage of one split: it has a beta-binomial distribution."""
    calibrating = int(evidence.scoring.calibration * groups)
    if not calibrating:
        return MISSING
    alpha, testing = evidence.scoring.alpha, groups - calibrating
    return percent(1.96 * sqrt(alpha * (1 - alpha) * (1 / (calibrating + 2) + 1 / max(testing, 1))))


def _findings(evidence: Evidence) -> list[Grid]:
    found = evidence.defects[evidence.defects["items"] > 0]
    if found.empty:
        return []
    columns = (
        Column("Dataset"),
        Column("Found", "docs/cleaning.md says how, and how certain it is"),
        Column("Items", "", True),
        Column("Share", "per cent of the dataset's items", True),
        Column("For example", "ids of the first of them"),
        Column("Clean protocol", "; ".join(f"{name}: {text}" for name, text in TREATMENTS.items())),
    )
    rows = [_finding(row) for row in found.sort_values("dataset", kind="stable").itertuples()]
    return [Grid("flags", "What cleaning found", columns, rows)]


def _finding(row: Any) -> list[Cell]:
    meaning = KNOWN[row.defect].meaning
    parts = [meaning, row.detail, "" if pd.isna(row.p_value) else f"p {formatting.p_value(row.p_value)}"]
    return cells(
        row.dataset,
        Cell(row.defect.replace("_", " "), "; ".join(filter(None, parts))),
        int(row.items),
        percent(row.share),
        ", ".join(row.examples),
        Cell(row.treatment, tone="bad" if row.treatment in ("dropped", "left out") else ""),
    )


def _rejects(evidence: Evidence) -> Grid | Text:
    if evidence.rejects.empty:
        return Text("Every entry of every source became an item.")
    groups = evidence.rejects.groupby(["dataset", "reason"])
    found = sorted(((len(g), key, g["where"].iloc[0]) for key, g in groups), key=lambda x: (-x[0], x[1]))
    columns = (Column("Dataset"), Column("Reason"), Column("Entries", "", True), Column("The first of them"))
    rows = [cells(d, reason, n, where) for n, (d, reason), where in found[:MOST_REASONS]]
    caption = "What was left out"
    if len(found) > MOST_REASONS:
        caption += f": the {MOST_REASONS} most frequent of {formatting.plural(len(found), 'reason')}"
    return Grid("rejects", caption, columns, rows)


def _not_found(evidence: Evidence, dataset: str) -> str:
    """Defects that were looked for and not found: their absence is a result, too."""
    here = evidence.defects[(evidence.defects["dataset"] == dataset) & (evidence.defects["items"] == 0)]
    if here.empty:
        return ""
    return f"{dataset}: looked for and not found: " + ", ".join(here["defect"].str.replace("_", " ")) + "."
