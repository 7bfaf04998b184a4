"""The two statistical protocols for the same responses, one file each.

Both give a Protocol: figures for the metrics table and columns, one value a row, for outcomes.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from vouch.metrics.intervals import mean_interval, percentiles
from vouch.metrics.registry import is_share
from vouch.metrics.responses import Bools, Floats, Ints

FAITHFUL, CLEAN = "faithful", "clean"
HEADLINE = ("lac", "aps")
"""The scores whose mean is the benchmark's headline."""
MARGINAL = "marginal"
"""How thresholds are calibrated: one for all rows."""


@dataclass(frozen=True)
class Figure:
    """One number: nonconformity score (or `mean`, or empty), metric, value, rows behind it, 95 % interval.

    calibration, alpha: of the prediction sets that it rests on, as in METRICS.
    """

    score: str
    metric: str
    value: float
    items: int
    low: float | None = None
    high: float | None = None
    calibration: str = ""
    alpha: float | None = None


def mean_figure(metric: str, values: Floats | Bools, groups: Ints, protocol: str, score: str = "") -> Figure:
    """The mean of values [n], in the clean protocol with its interval over groups [n]; the other has none."""
    low, high = mean_interval(values, groups, is_share(metric)) if protocol == CLEAN else (None, None)
    return Figure(score, metric, float(values.mean()), len(values), low, high)


def split_figure(
    metric: str,
    values: Floats,
    items: int,
    score: str = "",
    calibration: str = "",
    alpha: float | None = None,
) -> Figure:
    """The mean of one number a split [splits], with the 2.5 and 97.5 percentiles over the splits."""
    return Figure(score, metric, float(values.mean()), items, *percentiles(values), calibration, alpha)


class Column(NamedTuple):
    """values [n], which mean something only where known [n]."""

    values: np.ndarray
    known: Bools


@dataclass(frozen=True)
class Protocol:
    """figures, and per-row columns by name."""

    figures: list[Figure]
    columns: dict[str, Column] = field(default_factory=dict)
