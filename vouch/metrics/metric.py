"""The description of each metric (label, direction, unit, source), and a single value of a metric.

    metrics()["ece"].better     # "lower"
    find("chosen_share_A")      # the metric `chosen_share`: a name may end in `_KEY`

A metric is declared once, beside its formula: a table of formulas (`Formulas`) declares it with its formula,
and `declare` declares one that other code computes. Nothing else lists the metrics.

A `Figure` is one row of the metrics table; a `Protocol` holds all figures and per-row columns of some
answers.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from vouch.metrics.intervals import mean_interval, percentiles, signed_interval
from vouch.metrics.responses import Bools, Floats, Ints

SHARE = "share"
"""Unit of values in 0 ... 1 that are printed as percentages."""
OPTIONS = "options"


@dataclass(frozen=True)
class Metric:
    """label: heads a column. help: one line that explains it. source: the paper or papers.

    better: whether `higher` or `lower` values are better; empty if neither.
    unit: SHARE for values in 0 ... 1; empty for a plain number.
    ranked: whether the leaderboard ranks models by it.
    authors: the rows over which Kostumov et al. (2024) average it, `test` or `all`; empty if they have
    none.
    of_sets: whether it rests on prediction sets, which say nothing if a threshold is infinite.
    over_splits: whether its interval is over splits of the same items, which says nothing about its rank.
    detail: text that the documentation adds to `help`.
    """

    label: str
    help: str
    better: str = ""
    unit: str = ""
    ranked: bool = False
    authors: str = ""
    source: str = ""
    of_sets: bool = False
    over_splits: bool = False
    detail: str = ""


_METRICS: dict[str, Metric] = {}
Formula = TypeVar("Formula")
Given = TypeVar("Given")


def declare(name: str, label: str, help: str, **further: Any) -> None:
    """Declares a metric that is not the value of one formula; the arguments are the fields of Metric."""
    _METRICS[name] = Metric(label, help, **further)


class Formulas(Mapping[str, Formula]):
    """Formulas that take the same argument, by metric, in the order of the names. Calling it declares one:

    @OF_BINS("ece", "ECE", "expected calibration error", better="lower", unit=SHARE)
    def ece(bins: Bins) -> Array: ...
    """

    def __init__(self, **common: Any) -> None:
        """common: fields of Metric that all these metrics share."""
        self._formulas: dict[str, Formula] = {}
        self._common = common

    def __call__(self, name: str, label: str, help: str, **further: Any) -> Callable[[Given], Given]:
        """Declares the metric of the decorated formula; further: fields of Metric."""

        def declared(formula: Given) -> Given:
            declare(name, label, help, **self._common | further)
            self._formulas[name] = cast(Formula, formula)
            return formula

        return declared

    def __getitem__(self, name: str) -> Formula:
        return self._formulas[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._formulas))

    def __len__(self) -> int:
        return len(self._formulas)


_DECLARING = ("blind", "unranked", "confidence", "text.scoring", "compared")
"""Modules that declare metrics, or load those that do; the last two load much else."""


def metrics() -> Mapping[str, Metric]:
    """All metrics by name. Loads the modules that declare them."""
    _load()
    return _METRICS


@cache
def _load() -> None:
    for module in _DECLARING:
        import_module(f"vouch.metrics.{module}")


def find(name: str) -> Metric | None:
    """The metric of a name in the metrics table, with or without `_KEY` at its end; None if unknown.

    Loads the modules that declare metrics, but no more of them if the name is that of a metric.
    """
    for module in _DECLARING:
        if name in _METRICS:
            return _METRICS[name]
        import_module(f"vouch.metrics.{module}")
    known = metrics()
    while name not in known:
        name = name.rpartition("_")[0]
        if not name:
            return None
    return known[name]


def is_share(name: str) -> bool:
    """Whether a metric's values lie in 0 ... 1."""
    known = find(name)
    return known is not None and known.unit == SHARE


def is_of_sets(name: str) -> bool:
    """Whether a metric rests on prediction sets."""
    known = find(name)
    return known is not None and known.of_sets


def named(metric: str, values: Any) -> Mapping[str, Any]:
    """A formula's number under the metric's name, or each of its numbers under the name and its key."""
    if isinstance(values, dict):
        return {f"{metric}_{key}": each for key, each in values.items()}
    return {metric: values}


FAITHFUL, CLEAN = "faithful", "clean"
ALL = "all"
"""The category of rows over all questions."""
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
    """The mean of values [n]; in the clean protocol only, with its interval over groups [n]."""
    low, high = mean_interval(values, groups, is_share(metric)) if protocol == CLEAN else (None, None)
    return Figure(score, metric, float(values.mean()), len(values), low, high)


def signed_figure(metric: str, values: Floats, groups: Ints) -> Figure:
    """The mean of values [n] of either sign, with its interval over groups [n]."""
    return Figure("", metric, float(values.mean()), len(values), *signed_interval(values, groups))


def split_figure(
    metric: str,
    values: Floats,
    items: int,
    score: str = "",
    calibration: str = "",
    alpha: float | None = None,
) -> Figure:
    """The mean of one number per split [splits], with the 2.5 and 97.5 percentiles over the splits."""
    return Figure(score, metric, float(values.mean()), items, *percentiles(values), calibration, alpha)


class MetricColumn(NamedTuple):
    """values [n]; known [n]: whether a value has a meaning."""

    values: np.ndarray
    known: Bools


@dataclass(frozen=True)
class Protocol:
    """figures, and per-row columns by name."""

    figures: list[Figure]
    columns: dict[str, MetricColumn] = field(default_factory=dict)
