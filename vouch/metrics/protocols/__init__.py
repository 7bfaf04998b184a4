"""The two statistical protocols for the same responses, one file each.

Both give a Protocol: figures for the metrics table and columns, one value a row, for outcomes.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from vouch.metrics.responses import Bools

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


class Column(NamedTuple):
    """values [n], which mean something only where known [n]."""

    values: np.ndarray
    known: Bools


@dataclass(frozen=True)
class Protocol:
    """figures, and per-row columns by name."""

    figures: list[Figure]
    columns: dict[str, Column] = field(default_factory=dict)
