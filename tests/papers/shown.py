"""What the papers' builders make of made-up numbers, for their tests."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from vouch import papers
from vouch.papers.entry import Built, Lookup, Paper
from vouch.papers.page import Review, review
from vouch.report.evidence import Evidence
from vouch.report.page import declared
from vouch.report.table import Grid
from vouch.tables.results import LEADERBOARD

PAPERS = {paper.slug: paper for paper in declared(papers, Paper)}


def text(grid: Grid) -> list[list[str]]:
    return [[f"{cell.text}{' | ' + cell.note if cell.note else ''}" for cell in row] for row in grid.rows]


def standing(model: str, metric: str, value: float, **other: Any) -> dict[str, Any]:
    row = {"model": model, "metric": metric, "value": value, "dataset": "shapes", "variation": "original"}
    row |= {"output": "letters", "protocol": "faithful", "category": "all", "calibration": "", "score": ""}
    return row | {"items": 10} | other


def asked(evidence: Evidence, rows: Sequence[dict[str, Any]]) -> Evidence:
    """The same project with other leaderboard and nothing of what rests on them."""
    frame = pd.DataFrame(rows).reindex(columns=LEADERBOARD.schema.names)
    return replace(evidence, leaderboard=frame)


def reviewed(evidence: Evidence, slug: str) -> Review:
    return review(PAPERS[slug], Lookup(evidence))


def built(evidence: Evidence, slug: str) -> dict[str, Built]:
    return {entry.name: made for entry, made in reviewed(evidence, slug).shown}


def beside(made: Built, cells: slice) -> list[list[str]]:
    """Some cells of every published figure that stands beside ours."""
    (grid,) = made.beside
    return [[cell.text for cell in row[cells]] for row in grid.rows]
