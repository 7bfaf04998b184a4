"""Cells of the leaderboard and differences of two models, looked up by name.

A cell is a `Number`, the difference of two models a `ModelPair`; `Numbers` and `Comparisons` hold all of a
table.
"""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from vouch.metrics.comparison import statistics
from vouch.report.gates import SIGNIFICANCE, minimum_detectable_effect


class Number(NamedTuple):
    """One cell of the leaderboard. low, high: 95 % interval, None if there is none."""

    value: float
    low: float | None
    high: float | None
    items: int
    rank: int | None
    rank_low: int | None
    rank_high: int | None

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of its interval; its value in place of a missing end."""
        return self.value if self.low is None else self.low, self.value if self.high is None else self.high

    @property
    def excludes_zero(self) -> bool:
        """Whether it has an interval that excludes 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


class ModelPair(NamedTuple):
    """Accuracy of one model minus that of another, on the same items.

    low, high, p_holm: None if there are too few items for an interval.
    """

    difference: float
    low: float | None
    high: float | None
    p_holm: float | None
    items: int

    @property
    def significant(self) -> bool:
        return self.p_holm is not None and self.p_holm < SIGNIFICANCE

    def reversed(self) -> "ModelPair":
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return ModelPair(-self.difference, low, high, self.p_holm, self.items)


WHOLE = ("items", "rank", "rank_low", "rank_high")


def columns(frame: pd.DataFrame, names: Iterable[str]) -> list[list[Any]]:
    """Columns as lists: None for null, counts and ranks as whole numbers."""
    found = (frame[name].astype("Int64") if name in WHOLE else frame[name] for name in names)
    return [column.astype(object).where(column.notna(), None).tolist() for column in found]


class Numbers:
    """Cells of the leaderboard by the columns that name them."""

    def __init__(self, frame: pd.DataFrame, keys: Sequence[str]) -> None:
        frame = frame.dropna(subset=["value"])
        names = zip(*(frame[name].tolist() for name in keys), strict=True)
        numbers = zip(*columns(frame, Number._fields), strict=True)
        self._cells = dict(zip(names, numbers, strict=True))

    def get(self, key: tuple[str, ...]) -> Number | None:
        """The cell with these names; None if it is missing or null."""
        cell = self._cells.get(key)
        return None if cell is None else Number(*cell)


class Comparisons:
    """Differences between pairs of models, with Holm's correction over all that have a p.

    frame: columns of the table `differences`; p is null if the dataset is too small.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame.assign(p_holm=np.array(statistics.holm(columns(frame, ["p"])[0]), dtype=float))
        self._claims = int(frame["p"].notna().sum())
        self._pairs: dict[tuple[str, str, str], ModelPair] = {}
        names = ("dataset", "first", "second", *ModelPair._fields)
        for dataset, first, second, *values in zip(*columns(self.frame, names), strict=True):
            pair = ModelPair(*values)
            self._pairs[dataset, first, second] = pair
            self._pairs[dataset, second, first] = pair.reversed()

    def on(self, dataset: str) -> pd.DataFrame:
        """The differences on one dataset."""
        return self.frame[self.frame["dataset"] == dataset]

    def pair(self, dataset: str, first: str, second: str) -> ModelPair | None:
        """`first` minus `second`; None if the two were not compared."""
        return self._pairs.get((dataset, first, second))

    def minimum_detectable_effect(self, low: float | None, high: float | None) -> float | None:
        """The minimum detectable effect of a pair, from its interval and with the correction of its p."""
        return minimum_detectable_effect(low, high, self._claims)

    def median_detectable_effect(self, dataset: str) -> float | None:
        """The median of the minimum detectable effects of a dataset's pairs; None if it has no pairs."""
        ends = zip(*columns(self.on(dataset), ("low", "high")), strict=True)
        effects = [effect for low, high in ends if (effect := self.minimum_detectable_effect(low, high))]
        return median(effects) if effects else None
