"""Dimensions: accuracy by category over all datasets that have it, and its mean."""

import math
from collections.abc import Mapping

import pandas as pd
from markupsafe import Markup

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM
from vouch.report.section import Part, Section
from vouch.report.table import MISSING, Cell, Column, Grid, cells
from vouch.tables.asked import ORIGINAL, OUTPUTS
from vouch.tables.results import OVERALL

TITLE = "Dimensions"
HEADING = "Dimensions"
TEXT = Markup(
    """\
Each category over all datasets that have it, every dataset counted once, with the models' ranks, as
ReForm-Eval (Li et al. 2023) summarises its dimensions. The last row holds the means over the dimensions.
Ranks are those of the values alone, without intervals, where all rest on {MINIMUM} independent groups of
questions or more.""".replace("{MINIMUM}", str(MINIMUM))
)


def build(evidence: Evidence) -> Section | None:
    """One part per output with at least two dimensions, of the original prompts in the clean protocol."""
    frame = evidence.dimensions
    frame = frame[(frame["variation"] == ORIGINAL) & (frame["protocol"] == "clean")]
    found: list[Part] = []
    for output in OUTPUTS:
        here = frame[frame["output"] == output]
        if here.loc[here["dimension"] != OVERALL, "dimension"].nunique() > 1:
            name = formatting.OUTPUT_NAMES[output]
            grid = _grid(name, here, _questions(evidence, output))
            found.append(Part(f"By {name}", [grid], folds=True, opens=not found))
    return Section(HEADING, TEXT, found) if found else None


def _questions(evidence: Evidence, output: str) -> dict[str, int]:
    """Independent groups of questions by dimension, on the datasets with this output."""
    having = [name for name in evidence.datasets if output in evidence.outputs(name)]
    items = evidence.items[evidence.items["dataset"].isin(having)]
    counts = items.drop_duplicates(["category", "dataset", "group"])["category"].value_counts()
    return {str(category): int(count) for category, count in counts.items()}


def _grid(name: str, frame: pd.DataFrame, questions: Mapping[str, int]) -> Grid:
    models = sorted(frame["model"].unique())
    fewest = min(questions.get(each, 0) for each in frame["dimension"].unique() if each != OVERALL)
    questions = {**questions, OVERALL: fewest}
    found = {
        (dimension, model): _cell(value, rank if questions.get(dimension, 0) >= MINIMUM else math.nan)
        for dimension, model, value, rank in zip(
            *(frame[column].tolist() for column in ("dimension", "model", "value", "rank")), strict=True
        )
    }
    parts = frame.groupby("dimension")["parts"].max()
    dimensions = sorted(map(str, parts.index), key=lambda dimension: (dimension == OVERALL, dimension))
    rows = [
        cells(
            Cell(dimension, tone="strong" if dimension == OVERALL else ""),
            int(parts[dimension]),
            questions[dimension] if dimension != OVERALL and dimension in questions else MISSING,
            *(found.get((dimension, model), MISSING) for model in models),
        )
        for dimension in dimensions
    ]
    columns = (
        Column("Dimension", "a category; the last row holds the means over them"),
        Column("Datasets", "that have it; of the last row, dimensions", True),
        Column("Groups", "independent groups of questions", True),
        *(Column(f"{model} %", "accuracy, and the model's rank in small print", True) for model in models),
    )
    return Grid("dimensions", f"By {name}: mean accuracy over the datasets of each dimension", columns, rows)


def _cell(value: float, rank: float) -> Cell:
    if pd.isna(value):
        return MISSING
    note = "" if pd.isna(rank) else f"#{rank:.2g}"
    return Cell(formatting.number(100 * value, 1), note, float(value), tone="strong" if rank == 1 else "")
