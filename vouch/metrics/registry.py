"""What each metric is: its label, direction, unit and source, declared once, beside its formula.

    from vouch.metrics.registry import find, metrics

    metrics()["ece"].better     # "lower"
    find("chosen_share_A")      # that of `chosen_share`: a name may end in `_KEY`

A module that makes metrics has a table DECLARED of Metric by name, and stands in MODULES.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Generic, Literal, NamedTuple, TypeVar

T = TypeVar("T")
Better = Literal["higher", "lower"]

SHARE = "share"
"""Unit of values in 0 ... 1 that are printed as percentages."""
NATS = "nats"
OPTIONS = "options"

MODULES = (
    *("calibration.debias", "calibration.metrics", "calibration.prior"),
    *("conformal.metrics", "conformal.set_figures", "conformal.shift"),
    *("likelihood", "protocols.clean", "protocols.faithful", "ranking.scores"),
    *("robustness.gaps", "robustness.metrics", "robustness.perturbation", "robustness.repeated_prompts"),
    *("text.answers", "text.scoring", "unanswered"),
)
"""Modules of vouch.metrics that declare metrics."""


@dataclass(frozen=True)
class Metric:
    """label: heads a column. help: one line on what it is. source: the paper or papers.

    better: whether more or less of it is better; None where neither is.
    unit: SHARE for values in 0 ... 1; empty for a plain number.
    ranked: whether the leaderboard ranks models by it.
    """

    label: str
    help: str
    better: Better | None = None
    unit: str = SHARE
    source: str = ""
    ranked: bool = False


class Formula(NamedTuple, Generic[T]):
    """A metric and its formula, from whatever its family rests on.

    It returns a number, whose name is the metric's, or numbers by key, whose names are `METRIC_KEY`.
    authors: the rows over which Kostumov et al. (2024) average it, `test` or `all`; empty where they have
    none.
    """

    metric: Metric
    of: Callable[[T], Any]
    authors: str = ""


@cache
def metrics() -> Mapping[str, Metric]:
    """All metrics by name. Raises ValueError where two modules declare the same name."""
    found: dict[str, Metric] = {}
    for module in MODULES:
        declared: Mapping[str, Metric] = import_module(f"vouch.metrics.{module}").DECLARED
        twice = found.keys() & declared.keys()
        if twice:
            raise ValueError(f"vouch/metrics: {min(twice)} is declared twice; name it once")
        found |= declared
    return found


def find(name: str) -> Metric | None:
    """The metric of a name in the metrics table, `_KEY` at its end or not; None for an unknown one."""
    known = metrics()
    while name not in known:
        name = name.rpartition("_")[0]
        if not name:
            return None
    return known[name]


def named(metric: str, values: Any) -> Mapping[str, Any]:
    """A formula's number under the metric's name, or each of its numbers under the name and its key."""
    if isinstance(values, dict):
        return {f"{metric}_{key}": each for key, each in values.items()}
    return {metric: values}
