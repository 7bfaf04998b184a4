"""Rewritten questions: how many were made, and which ones no prompt was made of."""

import pandas as pd
from markupsafe import Markup

from vouch.report import formatting
from vouch.report.costs import variation_cell
from vouch.report.evidence import Evidence
from vouch.report.section import Block, Folded, Part, Section, Text
from vouch.report.table import Column, Grid, cells
from vouch.tables.asked import ACCEPTED, BY_HAND, REJECTED, RULES_ARE_ENGLISH

TITLE = "Rewrites"
HEADING = "Rewritten questions"
TEXT = Markup("""\
What the variations <i>lr</i> and <i>ls</i> ask. A rewrite that fails a check is rejected, and no prompt is
made of it: its question is missing from that variation, which is compared with the original on the other
questions.""")
MOST = 50
LONGEST = 300  # characters of a question that is shown here; the CSV has it whole


def build(evidence: Evidence) -> Section | None:
    """None where no question was rewritten."""
    frame = evidence.rewrites
    if frame.empty:
        return None
    blocks: list[Block] = [_counts(evidence)]
    rejected = frame[frame["status"] == REJECTED]
    foreign = rejected[rejected["reason"].str.contains(RULES_ARE_ENGLISH, regex=False)]
    counts = foreign.groupby("dataset")["original"].nunique()
    if len(counts):
        found = formatting.listed([f"{count} of {name}" for name, count in counts.items()])
        blocks.append(Text(f"The {RULES_ARE_ENGLISH}; questions that do not read as English: {found}."))
    if len(rejected):
        inner: list[Block] = [_rejected(rejected.head(MOST))]
        if len(rejected) > MOST:
            link = Markup('<a href="../tables/rewrites.csv">tables/rewrites.csv</a>')
            inner.append(Text(Markup("{} more are in {}.").format(len(rejected) - MOST, link)))
        blocks.append(Folded("What was rejected, and why", inner))
    return Section(HEADING, TEXT, [Part("", blocks)])


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
            cells(
                *(str(dataset), variation_cell(str(kind)), len(group)),
                *(int(tally.get(status, 0)) for status in (ACCEPTED, REJECTED, BY_HAND)),
                formatting.listed(sorted(group["rewriter"].unique())),
            )
        )
    return Grid("rewrites", "Rewritten questions", columns, rows)


def _rejected(frame: pd.DataFrame) -> Grid:
    columns = (
        Column("Dataset"),
        Column("Kind"),
        Column("Question"),
        Column("Rewrite"),
        Column("Failed", "checks that it failed"),
        Column("Why"),
    )
    rows = [
        cells(
            *(row.dataset, variation_cell(row.kind), _short(row.original)),
            _short(row.rewrite) if isinstance(row.rewrite, str) else "–",
            *(", ".join(row.failed), row.reason),
        )
        for row in frame.itertuples()
    ]
    return Grid("rejected-rewrites", "Rewrites that were rejected", columns, rows)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
