"""Conformal scores side by side: what each way to rank options makes of the same answers."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from vouch.report import formatting
from vouch.report.evidence import MARGINAL, Evidence
from vouch.report.grid import Cell, Column, Grid, figure
from vouch.report.numbers import Number

TITLE = "Scores"
NAMES = {
    "lac": "LAC",
    "aps": "APS",
    "aps_randomised": "APS, randomised",
    "aps_crossing": "APS, crossing",
    "margin": "margin",
    "raps": "RAPS",
    "saps": "SAPS",
}
KINDS = {
    MARGINAL: "all questions",
    "class": "each letter",
    "category": "each category",
    "options": "each number of options",
}
# label, help, metric, decimals, scale
SHOWN = (
    ("Set size", "mean number of options in a set", "set_size", 2, 1.0),
    ("Coverage %", "share of sets that hold the answer", "coverage", 1, 100.0),
    (
        "Worst size, coverage %",
        "lowest coverage among sets of one size that at least 5 % of the questions have",
        "worst_size_coverage",
        1,
        100.0,
    ),
    ("One option %", "share of sets with a single option", "singleton_rate", 1, 100.0),
    ("Empty %", "sets that were empty before the most probable option filled them", "empty_rate", 1, 100.0),
)


@dataclass(frozen=True)
class DatasetScores:
    """sentences: the smallest sets. kinds: LAC with a threshold for each part, where there are such."""

    dataset: str
    sentences: tuple[str, ...]
    grid: Grid
    kinds: Grid | None


def build(evidence: Evidence) -> tuple[DatasetScores, ...]:
    """One part per dataset with prediction sets."""
    parts = []
    for dataset in evidence.datasets:
        scores = _scores(evidence, dataset)
        if scores:
            said = [_smallest(evidence, dataset, model, scores) for model in evidence.models(dataset)]
            grid, kinds = _grid(evidence, dataset, scores), _kinds(evidence, dataset)
            parts.append(DatasetScores(dataset, tuple(filter(None, said)), grid, kinds))
    return tuple(parts)


def _scores(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    here = evidence.leading(dataset)
    found = set(here.loc[(here["metric"] == "set_size") & (here["protocol"] == "clean"), "score"])
    known = [name for name in NAMES if name in found]
    return (*known, *sorted(found - {*known, "mean", ""}))


def _smallest(evidence: Evidence, dataset: str, model: str, scores: tuple[str, ...]) -> str:
    """The score with the smallest sets, where there is a choice."""
    sizes = {s: n.value for s in scores if (n := evidence.number(dataset, model, "set_size", s))}
    if len(sizes) < 2:
        return ""
    best, worst = min(sizes, key=lambda s: sizes[s]), max(sizes, key=lambda s: sizes[s])
    return (
        f"{model}: smallest sets by {NAMES.get(best, best)}, {formatting.number(sizes[best], 2)} options; largest "
        f"by {NAMES.get(worst, worst)}, {formatting.number(sizes[worst], 2)}."
    )


def _coverage(evidence: Evidence, number: Number | None, cell: Cell) -> Cell:
    """Stands out where the interval stays below the target."""
    if number is None or number.high is None or number.high >= evidence.target:
        return cell
    return Cell(cell.text, cell.note, cell.key, tone="bad")


def _grid(evidence: Evidence, dataset: str, scores: tuple[str, ...]) -> Grid:
    columns = [Column("Model"), Column("Score"), *(Column(label, note, True) for label, note, *_ in SHOWN)]
    rows = []
    for model in evidence.models(dataset):
        for score in scores:
            if evidence.number(dataset, model, "set_size", score) is None:
                continue
            row = [Cell(model), Cell(NAMES.get(score, score))]
            for _, _, metric, digits, scale in SHOWN:
                number = evidence.number(dataset, model, metric, score)
                cell = figure(number, digits, scale)
                row.append(_coverage(evidence, number, cell) if metric == "coverage" else cell)
            rows.append(row)
    caption = f"{dataset}: every score on the same splits, intervals over the splits in small print"
    return Grid("scores", caption, columns, rows)


def _kinds(evidence: Evidence, dataset: str) -> Grid | None:
    """LAC sets by what has a threshold of its own; None where all questions share one everywhere."""
    frame = evidence.leaderboard
    frame = frame[
        (frame["dataset"] == dataset)
        & (frame["output"] == evidence.outputs(dataset)[0])
        & (frame["variation"] == evidence.variations(dataset)[0])
        & (frame["protocol"] == "clean")
        & (frame["category"] == "all")
        & ((frame["alpha"] - evidence.scoring.alpha).abs() < 1e-9)
        & frame["score"].isin(("lac", ""))
    ]
    cells = {
        (row.model, row.calibration, row.metric): _number(row)
        for row in frame.itertuples()
        if not pd.isna(row.value)
    }
    kinds = [kind for kind in KINDS if any(key[1] == kind for key in cells)]
    if len(kinds) < 2:
        return None
    columns = [Column("Model"), Column("A threshold for")]
    columns += [Column(label, note, True) for label, note, *_ in SHOWN[:3]]
    columns.append(Column("No threshold %", "splits and parts with too few questions to calibrate", True))
    rows = []
    for model in evidence.models(dataset):
        for kind in kinds:
            if (model, kind, "set_size") not in cells:
                continue
            row = [Cell(model), Cell(KINDS[kind])]
            for _, _, metric, digits, scale in SHOWN[:3]:
                row.append(figure(cells.get((model, kind, metric)), digits, scale))
            row.append(figure(cells.get((model, kind, "infinite_threshold_rate")), 1, 100))
            rows.append(row)
    return Grid("kinds", f"{dataset}: LAC sets by what has a threshold of its own", columns, rows)


def _number(row: Any) -> Number:
    low, high = (None if pd.isna(end) else float(end) for end in (row.low, row.high))
    return Number(float(row.value), low, high, int(row.items), None, None, None)
