"""Questions in other words: how many were made, and which ones no prompt was made of."""

from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.costs import meaning
from vouch.report.evidence import Evidence
from vouch.report.grid import Cell, Column, Grid, whole
from vouch.tables.rewrites import ACCEPTED, BY_HAND, REJECTED

TITLE = "Rewrites"
MOST = 50
LONGEST = 300  # characters of a question that is shown here; the CSV has it whole


@dataclass(frozen=True)
class Rewrites:
    """rejected: None where every rewrite was accepted. more: how many rejected ones the table leaves out."""

    counts: Grid
    rejected: Grid | None
    more: int


def build(evidence: Evidence) -> Rewrites | None:
    """None where no question was put in other words."""
    if evidence.rewrites.empty:
        return None
    gone = evidence.rewrites[evidence.rewrites["status"] == REJECTED]
    return Rewrites(_counts(evidence), _rejected(evidence) if len(gone) else None, max(len(gone) - MOST, 0))


def _counts(evidence: Evidence) -> Grid:
    columns = (
        Column("Dataset"),
        Column("Kind"),
        Column("Questions", "distinct ones", True),
        Column("Accepted", "passed every check", True),
        Column("Rejected", "no prompt is made of them", True),
        Column("By hand", "a person decided", True),
        Column("By", "rules or a pinned model"),
    )
    rows = []
    for (dataset, kind), group in evidence.rewrites.groupby(["dataset", "kind"]):
        tally = group["status"].value_counts()
        rows.append(
            (
                Cell(str(dataset)),
                Cell(str(kind), meaning(str(kind)) if meaning(str(kind)) != kind else ""),
                whole(len(group)),
                *(whole(int(tally.get(status, 0))) for status in (ACCEPTED, REJECTED, BY_HAND)),
                Cell(formatting.listed(sorted(group["rewriter"].unique()))),
            )
        )
    return Grid("rewrites", "Questions put in other words", columns, rows)


def _rejected(evidence: Evidence) -> Grid:
    frame = evidence.rewrites[evidence.rewrites["status"] == REJECTED]
    columns = (
        Column("Dataset"),
        Column("Kind"),
        Column("Question"),
        Column("Rewrite"),
        Column("Failed", "checks that it failed"),
        Column("Why"),
    )
    rows = [
        (
            Cell(row.dataset),
            Cell(row.kind),
            Cell(_short(row.original)),
            Cell(_short(row.rewrite) if isinstance(row.rewrite, str) else "–"),
            Cell(", ".join(row.failed)),
            Cell(row.reason),
        )
        for row in frame.head(MOST).itertuples()
    ]
    return Grid("rejected-rewrites", "Rewrites that were rejected", columns, rows)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
