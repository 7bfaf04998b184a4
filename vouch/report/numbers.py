"""Numbers as the report looks them up: one cell of the leaderboard, one comparison of two models."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vouch.metrics.comparison import statistics

if TYPE_CHECKING:
    import pandas as pd

SIGNIFICANCE = 0.05 / 5
"""p after Holm's correction, below which a claim is made. The first page makes claims of six kinds (better
than a guess, model against model, variation, coverage, confidence, the picture), and is to be free of false
ones in 94 of 100 reports."""


class Number(NamedTuple):
    """One cell of the leaderboard. low, high: 95 % interval, None where there is none."""

    value: float
    low: float | None
    high: float | None
    items: int
    rank: int | None
    rank_low: int | None
    rank_high: int | None

    @property
    def ends(self) -> tuple[float, float]:
        """Of its interval; its value where there is none."""
        return self.value if self.low is None else self.low, self.value if self.high is None else self.high

    @property
    def excludes_zero(self) -> bool:
        """Whether it has an interval, and 0 is outside."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


class Pair(NamedTuple):
    """Accuracy of one model minus that of another, on the same items.

    low, high, p_holm: None where the items are too few for an interval.
    """

    difference: float
    low: float | None
    high: float | None
    p_holm: float | None
    items: int

    @property
    def significant(self) -> bool:
        """Whether the data separate the two models."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANCE

    def reversed(self) -> "Pair":
        """The same with the models in the other order."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return Pair(-self.difference, low, high, self.p_holm, self.items)


def minimum_detectable_effect(low: float | None, high: float | None, claims: int = 1) -> float | None:
    """The smallest true difference that is named in four of five studies, by the ends of an interval.

    claims: of its kind, among which Holm's correction may leave it the smallest p.
    """
    return statistics.minimum_detectable_effect(low, high, SIGNIFICANCE, claims)


WHOLE = ("items", "rank", "rank_low", "rank_high")


def columns(frame: "pd.DataFrame", names: Iterable[str]) -> list[list[Any]]:
    """Columns as lists: None for null, counts and ranks as whole numbers."""
    found = (frame[name].astype("Int64") if name in WHOLE else frame[name] for name in names)
    return [column.astype(object).where(column.notna(), None).tolist() for column in found]


class Numbers:
    """Cells of the leaderboard by the columns that name them; a cell is made when it is asked for."""

    def __init__(self, frame: "pd.DataFrame", keys: Sequence[str]) -> None:
        frame = frame.dropna(subset=["value"])
        names = zip(*(frame[name].tolist() for name in keys), strict=True)
        self._place = {key: place for place, key in enumerate(names)}
        self._values = columns(frame, Number._fields)

    def get(self, key: tuple[str, ...]) -> Number | None:
        """The cell with these names; None where it is missing or null."""
        place = self._place.get(key)
        return None if place is None else Number(*(column[place] for column in self._values))


class Comparisons:
    """Differences of two models each, with Holm's correction over all that have a p.

    frame: columns of the table `differences`, p null where the dataset is too small for one.
    """

    def __init__(self, frame: "pd.DataFrame") -> None:
        self.frame = frame.assign(p_holm=np.array(statistics.holm(columns(frame, ["p"])[0]), dtype=float))
        self._claims = int(frame["p"].notna().sum())
        self._pairs: dict[tuple[str, str, str], Pair] = {}
        names = ("dataset", "first", "second", *Pair._fields)
        for dataset, first, second, *values in zip(*columns(self.frame, names), strict=True):
            pair = Pair(*values)
            self._pairs[dataset, first, second] = pair
            self._pairs[dataset, second, first] = pair.reversed()

    def on(self, dataset: str) -> "pd.DataFrame":
        """Those of one dataset."""
        return self.frame[self.frame["dataset"] == dataset]

    def pair(self, dataset: str, first: str, second: str) -> Pair | None:
        """That of two models, as `first` minus `second`; None where it was not made."""
        return self._pairs.get((dataset, first, second))

    def detectable(self, low: float | None, high: float | None) -> float | None:
        """The minimum detectable effect of one of them by its interval, corrected as its p is."""
        return minimum_detectable_effect(low, high, self._claims)

    def minimum_detectable_effect(self, dataset: str) -> float | None:
        """That of the median pair of a dataset; None without pairs."""
        ends = zip(*columns(self.on(dataset), ("low", "high")), strict=True)
        effects = [effect for low, high in ends if (effect := self.detectable(low, high))]
        return median(effects) if effects else None
