"""How far datasets lie apart, and whether models are ordered less alike on those far apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.grid import MISSING, Cell, Column, Grid

TITLE = "Distances"
ON_THE_LINE = "accuracy_on_the_line"
FIGURES = ("tu-figure-4-1", "tu-figure-2-2")


@dataclass(frozen=True)
class Distances:
    """sentences: the trend over all pairs of datasets. figures: names of their files."""

    sentences: Sequence[str]
    grid: Grid
    figures: Sequence[str] = FIGURES


def build(evidence: Evidence) -> Distances | None:
    """None where no two datasets have a distance."""
    frame = evidence.distances.dropna(subset=["distance"])
    if frame.empty:
        return None
    return Distances(tuple(trends(evidence)), _grid(evidence, frame))


def trends(evidence: Evidence) -> Iterator[str]:
    """What compare found of all pairs, a sentence for each kind of embedding and output."""
    for row in evidence.trends.dropna(subset=["rho", "p"]).itertuples():
        yield (
            f"{row.of.capitalize()} and rankings by {formatting.OUTPUT_NAMES[row.output]}: Spearman's rho "
            f"{formatting.number(row.rho, 2)} over {formatting.plural(int(row.pairs), 'pair')} of datasets; with "
            f"datasets permuted (Mantel 1967) p is {formatting.p_value(row.p)}."
        )


def _grid(evidence: Evidence, frame: pd.DataFrame) -> Grid:
    alike = _agreement(evidence)
    columns = (
        Column("Dataset"),
        Column("Other dataset"),
        Column("Of"),
        Column("Distance", "Fréchet distance of the embeddings", True),
        Column("By chance", "its mean between random parts of both together, of the same sizes", True),
        Column("Same order, rho", "Spearman's rho between the models' performance on the two", True),
    )
    rows = [
        (
            Cell(row.dataset),
            Cell(row.other),
            Cell(row.of, row.encoder),
            _distance(row.distance),
            _distance(row.chance),
            _rho(alike.get((row.dataset, row.other))),
        )
        for row in frame.sort_values(["of", "distance", "dataset", "other"]).itertuples()
    ]
    return Grid("distances", "Pairs of datasets, the nearest first", columns, rows)


def _agreement(evidence: Evidence) -> dict[tuple[str, str], float]:
    """Accuracy on the line, of the first output of a dataset, by it and the other."""
    frame = evidence.rankings
    frame = frame[frame["ranker"] == ON_THE_LINE].dropna(subset=["rho"])
    first = {name: evidence.outputs(name)[0] for name in evidence.datasets}
    frame = frame[frame["output"] == frame["dataset"].map(first)]
    return dict(zip(zip(frame["dataset"], frame["proxy"], strict=True), frame["rho"], strict=True))


def _distance(value: Any) -> Cell:
    return (
        MISSING if pd.isna(value) else Cell(f"{value:.3g}".replace("-", formatting.MINUS), key=float(value))
    )


def _rho(value: float | None) -> Cell:
    return MISSING if value is None else Cell(formatting.number(value, 2), key=value)
