"""The page Datasets: what was asked, what cleaning found, what was left out, and what was rewritten."""

from math import sqrt
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.report import formatting
from vouch.report.costs import variation_cell
from vouch.report.evidence import Evidence
from vouch.report.page import Block, Folded, Page, PageSection, Part, Section, Text, sentence_list
from vouch.report.table import MISSING, Cell, Column, Grid, cells, percent
from vouch.tables.asked import ACCEPTED, BY_HAND, KNOWN, REJECTED, RULES_ARE_ENGLISH, TREATMENTS

DATA_HEADING = "What was asked"
MOST_REASONS = 50


def build_data(evidence: Evidence) -> Section:
    """All datasets, including those on which no model was scored."""
    names = sorted(set(evidence.items["dataset"]) | set(evidence.rejects["dataset"]))
    blocks: list[Block] = [_overview(evidence, names), *_findings(evidence), _rejects(evidence)]
    absent = sentence_list(_not_found(evidence, name) for name in names)
    if absent:
        blocks.append(Folded("What cleaning looked for but did not find", absent))
    return Section(DATA_HEADING, Markup(""), [Part("", blocks)])


DATA_SECTION = PageSection("data", "Items", build_data, page="datasets", place=10)


def _spread(counts: pd.Series) -> str:
    """`4 (3,911), 3 (288)`: most frequent first."""
    tally = counts.value_counts()
    ordered = sorted(((int(n), int(k)) for k, n in tally.items()), key=lambda pair: (-pair[0], pair[1]))
    return ", ".join(f"{k or 'none'} ({formatting.count(n)})" for n, k in ordered) or "–"


def _overview(evidence: Evidence, names: list[str]) -> Grid:
    columns = (
        Column("Dataset"),
        Column("Items", "in small print those without an image, if others have one", True),
        Column("Groups", "items of a group are never split between calibration and test", True),
        Column("Images", "distinct images", True),
        Column("Categories", "", True),
        Column("Options", "number of native options (items)"),
        Column("Flagged", "items in which cleaning found a defect", True),
        Column("Left out", "entries of the source that did not become an item", True),
        Column(
            "Chance ±",
            "points by which chance alone may move the coverage of one split from the target",
            True,
        ),
    )
    rows = []
    for name in names:
        items = evidence.items[evidence.items["dataset"] == name]
        groups = int(items["group"].nunique())
        rows.append(
            cells(
                name,
                Cell(formatting.count(len(items)), evidence.without_image(name), len(items)),
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
    """How far only chance moves the coverage of one split; that coverage is beta-binomial."""
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
        Column("Found", "docs/cleaning.md says how, and how reliable that is"),
        Column("Items", "", True),
        Column("Share", "per cent of the dataset's items", True),
        Column("For example", "ids of the first items"),
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
    columns = (
        Column("Dataset"),
        Column("Reason"),
        Column("Entries", "", True),
        Column("First entry"),
    )
    rows = [cells(d, reason, n, where) for n, (d, reason), where in found[:MOST_REASONS]]
    caption = "What was left out"
    if len(found) > MOST_REASONS:
        caption += f": the {MOST_REASONS} most frequent of {formatting.plural(len(found), 'reason')}"
    return Grid("rejects", caption, columns, rows)


def _not_found(evidence: Evidence, dataset: str) -> str:
    """Defects that cleaning looked for and did not find; their absence is a result, too."""
    here = evidence.defects[(evidence.defects["dataset"] == dataset) & (evidence.defects["items"] == 0)]
    if here.empty:
        return ""
    return f"{dataset}: looked for but not found: " + ", ".join(here["defect"].str.replace("_", " ")) + "."


REWRITES_HEADING = "Rewritten questions"
REWRITES_TEXT = Markup("""\
The variations <i>lr</i> and <i>ls</i> ask rewritten questions. A rewrite that fails a check is rejected and
not asked; the variation is then compared with the original prompts on the other questions.""")
MOST_REWRITES = 50
LONGEST_REWRITE = 300  # characters of a question shown here; the CSV has all of it


def build_rewrites(evidence: Evidence) -> Section | None:
    """The section on rewritten questions; None if no question was rewritten."""
    frame = evidence.rewrites
    if frame.empty:
        return None
    blocks: list[Block] = [_counts(evidence)]
    rejected = frame[frame["status"] == REJECTED]
    foreign = rejected[rejected["reason"].str.contains(RULES_ARE_ENGLISH, regex=False)]
    counts = foreign.groupby("dataset")["original"].nunique()
    if len(counts):
        found = formatting.listed([f"{count} of {name}" for name, count in counts.items()])
        blocks.append(Text(f"The {RULES_ARE_ENGLISH}; questions that are not in English: {found}."))
    if len(rejected):
        inner: list[Block] = [_rejected(rejected.head(MOST_REWRITES))]
        if len(rejected) > MOST_REWRITES:
            link = Markup('<a href="../tables/rewrites.csv">tables/rewrites.csv</a>')
            inner.append(Text(Markup("{} more are in {}.").format(len(rejected) - MOST_REWRITES, link)))
        blocks.append(Folded("What was rejected, and why", inner))
    return Section(REWRITES_HEADING, REWRITES_TEXT, [Part("", blocks)])


REWRITES_SECTION = PageSection("rewrites", "Rewrites", build_rewrites, page="datasets", place=20)


def _counts(evidence: Evidence) -> Grid:
    columns = (
        Column("Dataset"),
        Column("Kind"),
        Column("Questions", "distinct ones", True),
        Column("Accepted", "passed every check", True),
        Column("Rejected", "not asked", True),
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
    return text if len(text) <= LONGEST_REWRITE else text[: LONGEST_REWRITE - 1] + "…"


PAGE = Page(
    "datasets",
    "Datasets",
    "What the models were asked, what cleaning found, and what was left out.",
    place=30,
)
