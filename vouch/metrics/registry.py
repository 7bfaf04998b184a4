"""What each metric is: its label, direction, unit and source, a line of metrics.csv each.

    metrics()["ece"].better     # "lower"
    find("chosen_share_A")      # that of `chosen_share`: a name may end in `_KEY`

To add a metric, add its formula to a table and a line to metrics.csv.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

SHARE = "share"
"""Unit of values in 0 ... 1 that are printed as percentages."""
OPTIONS = "options"


@dataclass(frozen=True)
class Metric:
    """label: heads a column. help: one line on what it is. source: the paper or papers.

    better: whether `higher` or `lower` values are better; empty where neither is.
    unit: SHARE for values in 0 ... 1; empty for a plain number.
    ranked: whether the leaderboard ranks models by it.
    authors: the rows over which Kostumov et al. (2024) average it, `test` or `all`; empty where they have
    none.
    """

    label: str
    help: str
    better: str = ""
    unit: str = ""
    ranked: bool = False
    authors: str = ""
    source: str = ""


@cache
def metrics() -> Mapping[str, Metric]:
    """All metrics by name."""
    with files(__package__).joinpath("metrics.csv").open(encoding="utf-8") as file:
        return {
            row.pop("name"): Metric(**row | {"ranked": row["ranked"] == "yes"})
            for row in csv.DictReader(file)
        }


def find(name: str) -> Metric | None:
    """The metric of a name in the metrics table, `_KEY` at its end or not; None for an unknown one."""
    known = metrics()
    while name not in known:
        name = name.rpartition("_")[0]
        if not name:
            return None
    return known[name]


def is_share(name: str) -> bool:
    """Whether a metric's values lie in 0 ... 1."""
    found = find(name)
    return found is not None and found.unit == SHARE


def named(metric: str, values: Any) -> Mapping[str, Any]:
    """A formula's number under the metric's name, or each of its numbers under the name and its key."""
    if isinstance(values, dict):
        return {f"{metric}_{key}": each for key, each in values.items()}
    return {metric: values}
