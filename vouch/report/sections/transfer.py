"""Transfer: what thresholds of one dataset or model are worth on another."""

from collections.abc import Iterator, Sequence

import pandas as pd
from markupsafe import Markup

from vouch.report import formatting
from vouch.report.claims import TRANSFER, transfer_coverages
from vouch.report.costs import shade
from vouch.report.evidence import Evidence
from vouch.report.section import Beside, Block, Folded, Part, Section, said
from vouch.report.table import ITEMS, MISSING, Cell, Column, Grid, Tone, cells, interval, percent, rounded
from vouch.tables.asked import TEXT as OF_TEXT
from vouch.tables.results import NONE

TITLE = "Transfer"
TEXT = Markup("""\
A threshold keeps its promise on questions like those that calibrated it. Here one half of a dataset gives the
threshold of LAC sets, and the other half of another dataset, or of another model's answers, is judged by it.
Coloured cells differ from the target, corrected for all of them. <em>Weighted</em> sets count each question
that calibrates by how much likelier its picture or words are in the other dataset. That mends a shift of
these and nothing else: not other words for the same pictures, not a harder task, and not a dataset so far
away that few questions keep their weight, where sets hold every option.""")
CLOSER = 0.01
KINDS = {"images": "pictures", "questions": "words"}
MOST = 4


def build(evidence: Evidence) -> Section | None:
    """Nothing where there is no other dataset or model, or none of them is large enough."""
    frame = evidence.transfer
    large = frame["dataset"].isin(evidence.large) & frame["from_dataset"].isin(evidence.large)
    frame = frame[large & (frame["output"] != OF_TEXT)].dropna(subset=["coverage"])
    if frame.empty:
        return None
    plain = frame[frame["weighting"] == NONE]
    between = plain[plain["model"] == plain["from_model"]]
    home = plain[plain["dataset"] == plain["from_dataset"]]
    away = said([*_broken(evidence, between), *_weighted(evidence, frame)])
    parts = [
        Part(title, [*told, *_beside(grids)], folds=True, opens=opens)
        for title, told, grids, opens in (
            ("To another dataset", away, _heats(evidence, between, "model", evidence.all_models), True),
            ("To another model", [], _heats(evidence, home, "dataset", evidence.large), False),
        )
        if grids
    ]
    every = Part("Every transfer", [_grid(evidence, frame)], folds=True)
    return Section("Do thresholds hold elsewhere?", TEXT, [*parts, every]) if parts else None


def _beside(grids: list[Grid]) -> list[Block]:
    more = [Folded("Others", [Beside(grids[MOST:])])] if len(grids) > MOST else []
    return [Beside(grids[:MOST]), *more]


def _heats(evidence: Evidence, frame: pd.DataFrame, by: str, names: Sequence[str]) -> list[Grid]:
    """A heat map of the other of model and dataset for each model or dataset (by) that has several of it."""
    other = "dataset" if by == "model" else "model"
    parts = {name: frame[frame[by] == name] for name in names}
    return [
        _heat(evidence, part, f"{name}: coverage %, thresholds of the {other} at the left", other)
        for name, part in parts.items()
        if part[other].nunique() > 1
    ]


def _heat(evidence: Evidence, frame: pd.DataFrame, caption: str, place: str) -> Grid:
    shown, cell = transfer_coverages(evidence), {}
    for _, row in frame.iterrows():
        told = _key(row) in shown
        text = formatting.number(100 * row["coverage"], 1)
        colour = shade(row["coverage"] - evidence.target) if told else ""
        tone: Tone = "" if told else "quiet"
        cell[row[f"from_{place}"], row[place]] = Cell(text, key=row["coverage"], tone=tone, shade=colour)
    names = sorted({name for pair in cell for name in pair})
    rows = [cells(one, *(cell.get((one, other), MISSING) for other in names)) for one in names]
    heads = (Column("From"), *(Column(name, "", True) for name in names))
    return Grid("transfer", caption, heads, rows, heat=True)


def _broken(evidence: Evidence, between: pd.DataFrame) -> Iterator[str]:
    """How often coverage is lost elsewhere, where most of all, and what the answers given alone come to."""
    away = between[between["dataset"] != between["from_dataset"]]
    shown = transfer_coverages(evidence)
    lost = away[[_key(row) in shown and not shown[_key(row)].above for _, row in away.iterrows()]]
    target = formatting.percent(evidence.target, 0)
    if lost.empty:
        yield f"Of {formatting.plural(len(away), 'transfer')} none is shown to break {target} coverage."
    else:
        row = lost.loc[lost["coverage"].idxmin()]
        yield (
            f"{target} coverage is shown to be broken in {formatting.count(len(lost))} of "
            f"{formatting.plural(len(away), 'transfer')}; lowest: {formatting.percent(row['coverage'])}, "
            f"{_where(row)}."
        )
    alone = away.dropna(subset=["wrong"])
    if len(alone):
        row = alone.loc[alone["wrong"].idxmax()]
        yield (
            f"Answers alone with 5{formatting.NARROW}% wrong at home have up to "
            f"{formatting.percent(row['wrong'], 0)} wrong elsewhere: {_where(row)}."
        )


def _where(row: pd.Series) -> str:
    return f"{row['model']} from {row['from_dataset']} to {row['dataset']}"


def _key(row: pd.Series) -> tuple[str, ...]:
    return tuple(row[name] for name in TRANSFER)


def _weighted(evidence: Evidence, frame: pd.DataFrame) -> Iterator[str]:
    """Whether weights bring coverage nearer to the target."""
    keys = [name for name in TRANSFER if name != "weighting"]
    plain = frame[frame["weighting"] == NONE]
    for kind, part in frame[frame["weighting"] != NONE].groupby("weighting"):
        both = plain.merge(part, on=keys, suffixes=("", "_weighted"))
        before, after = ((both[name] - evidence.target).abs() for name in ("coverage", "coverage_weighted"))
        nearer, further = (before - after > CLOSER).sum(), (after - before > CLOSER).sum()
        full = both.loc[before - after > CLOSER, "infinite_weighted"]
        said = (
            f"Weights by {KINDS[str(kind)]} bring coverage nearer to the target in {nearer} of "
            f"{formatting.plural(len(both), 'transfer')}, and further from it in {further}"
        )
        if len(full):
            said += f"; of the nearer ones {formatting.percent(full.mean(), 0)} of the sets hold every option"
        yield f"{said}."


def _grid(evidence: Evidence, frame: pd.DataFrame) -> Grid:
    columns = (
        *(Column(name) for name in ("Model", "From", "On", "Weights")),
        ITEMS,
        Column("Coverage %", f"of LAC sets, target {formatting.percent(evidence.target, 0)}", True),
        Column("Set size", "mean number of options in a set", True),
        Column("Every option %", "sets for which too little weight calibrates", True),
        Column("Effective", "calibration questions by their weights, (sum w)² / sum w²", True),
        Column("Alone %", "answered alone by the threshold of 5 % wrong", True),
        Column("Wrong %", "of these answers", True),
    )
    rows = []
    for _, row in frame[frame["dataset"] != frame["from_dataset"]].iterrows():
        coverage = interval(row["coverage"], row["low"], row["high"], 1, 100)
        rows.append(
            cells(
                *(row[name] for name in ("model", "from_dataset", "dataset", "weighting", "items")),
                coverage,
                *(rounded(row["set_size"], 2), percent(row["infinite"]), rounded(row["effective"], 0)),
                *(percent(row["answered"]), percent(row["wrong"])),
            )
        )
    return Grid("transfer-all", "thresholds of one dataset on another", columns, rows)
