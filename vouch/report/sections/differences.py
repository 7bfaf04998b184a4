"""Differences between models: paired on the same items, corrected for the number of pairs."""

from dataclasses import dataclass
from typing import Literal

import pandas as pd

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.grid import MISSING, Cell, Column, Grid, whole
from vouch.report.numbers import SIGNIFICANCE, Pair

TITLE = "Differences"


@dataclass(frozen=True)
class DatasetDifferences:
    """summary: how many pairs can be told apart. models: one row per model. pairs: one row per pair."""

    dataset: str
    summary: str
    models: Grid
    pairs: Grid
    figures: tuple[str, ...] = ("differences",)


def build(evidence: Evidence) -> tuple[DatasetDifferences, ...]:
    """One part per dataset that has pairs."""
    found = {dataset: evidence.leading_differences(dataset) for dataset in evidence.datasets}
    return tuple(_part(evidence, dataset, here) for dataset, here in found.items() if len(here))


def _part(evidence: Evidence, dataset: str, here: pd.DataFrame) -> DatasetDifferences:
    apart = int((here["p_holm"] < SIGNIFICANCE).sum())
    summary = (
        f"{formatting.count(apart)} of {formatting.plural(len(here), 'pair')} can be told apart "
        f"(p < {SIGNIFICANCE} after Holm's correction)."
    )
    summary += said_detectable(evidence, dataset)
    return DatasetDifferences(dataset, summary, _models(evidence, dataset), _pairs(evidence, dataset))


def said_detectable(evidence: Evidence, dataset: str) -> str:
    """` 1,000 items tell ...`, or nothing where no pair has an interval."""
    least = evidence.minimum_detectable_effect(dataset)
    if least is None:
        return ""
    items = int(evidence.leading_differences(dataset)["items"].max())
    points = formatting.number(100 * least, 1)
    return (
        f" {formatting.plural(items, 'item')} find a difference of {points} points in four of five such studies; "
        "smaller ones need more items."
    )


def _models(evidence: Evidence, dataset: str) -> Grid:
    columns = (
        Column("Model"),
        Column("Better than", "number of models", True),
        Column("Worse than", "number of models", True),
        Column("Cannot be told from"),
    )
    rows = []
    models = evidence.models(dataset)
    for model in models:
        pairs = {other: evidence.pair(dataset, model, other) for other in models if other != model}
        better = sum(p is not None and p.told_apart and p.difference > 0 for p in pairs.values())
        worse = sum(p is not None and p.told_apart and p.difference < 0 for p in pairs.values())
        alike = [other for other, pair in pairs.items() if pair is not None and not pair.told_apart]
        rows.append(
            (
                Cell(model),
                whole(better),
                whole(worse),
                Cell(formatting.listed(alike, 30) if alike else "–", key=len(alike)),
            )
        )
    return Grid("differences-models", f"{dataset}: what the data can tell apart", columns, rows)


def _difference(pair: Pair) -> Cell:
    note = formatting.bracketed(pair.low, pair.high, 1, 100).strip(" ()")
    tone: Literal["strong", "quiet"] = "strong" if pair.told_apart else "quiet"
    return Cell(formatting.number(100 * pair.difference, 1), note, pair.difference, tone=tone)


def _p(value: float | None) -> Cell:
    if value is None:
        return MISSING
    return Cell(formatting.p_value(value), key=value)


def points(value: float | None) -> Cell:
    """A share in per cent, without an interval."""
    return MISSING if value is None else Cell(formatting.number(100 * value, 1), key=value)


def _pairs(evidence: Evidence, dataset: str) -> Grid:
    columns = (
        Column("Better"),
        Column("Worse"),
        Column("Difference", f"points of accuracy, 95{formatting.NARROW}% interval", True),
        Column("p, Holm", "", True),
        Column("Detectable", "points that so many items find in four of five such studies", True),
        Column("Items", "", True),
    )
    rows = []
    models = evidence.models(dataset)
    for index, first in enumerate(models):
        for second in models[index + 1 :]:
            pair = evidence.pair(dataset, first, second)
            if pair is None:
                continue
            rows.append(
                (
                    Cell(first),
                    Cell(second),
                    _difference(pair),
                    _p(pair.p_holm),
                    points(pair.minimum_detectable_effect),
                    whole(pair.items),
                )
            )
    return Grid("differences-pairs", f"{dataset}: every pair, in the order of accuracy", columns, rows)
