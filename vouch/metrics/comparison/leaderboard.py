"""Every metric of every model in one table, ranked where more or less of it is better."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.registry import metrics as declared

SPLIT_ONLY = ("coverage", "set_size", "uacc")
PLACE = (
    *("dataset", "variation", "output", "protocol", "category"),
    *("calibration", "alpha", "score", "metric"),
)


def leaderboard(metrics: pa.Table) -> Iterator[dict[str, Any]]:
    """Rows of LEADERBOARD from rows of METRICS, by place (a null alpha first) and then by rank and model.

    Those of one dataset are in memory at a time: as Python objects they take ten times what the table takes.

    Equal values share the better rank. Only metrics that the registry calls `ranked` have ranks. rank_low and
    rank_high need an interval that says how another sample of items would come out; those of set
    metrics say how another split would, so these have none.
    """
    for dataset in sorted(pc.unique(metrics["dataset"]).to_pylist()):
        yield from _of_dataset(metrics.filter(pc.equal(metrics["dataset"], dataset)).to_pylist())


def _of_dataset(metrics: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    places = defaultdict(list)
    for row in metrics:
        places[tuple(row[name] for name in PLACE)].append(row)
    for place in sorted(places, key=_order):
        rows = sorted(places[place], key=lambda row: row["model"])
        metric = declared().get(place[-1])
        columns = {name: [row[name] for row in rows] for name in ("value", "low", "high")}
        if place[-1] in SPLIT_ONLY:
            columns |= {"low": [None] * len(rows), "high": [None] * len(rows)}
        found: Sequence[dict[str, int]] = [{}] * len(rows)
        if metric and metric.ranked:
            found = _ranks(**columns, higher=metric.better == "higher")
        empty = {"rank": None, "rank_low": None, "rank_high": None}
        ranked = [empty | row | ranks for row, ranks in zip(rows, found, strict=True)]
        yield from sorted(ranked, key=lambda row: row["rank"] or 0)


def _order(place: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sorts places; an alpha that is null comes first."""
    return tuple(-1.0 if part is None else part for part in place)


def _ranks(
    value: Sequence[float], low: Sequence[float | None], high: Sequence[float | None], higher: bool
) -> list[dict[str, int]]:
    """rank_low: 1 + models that are better for sure; rank_high: last but those that are worse for sure.

    For sure means that the two intervals do not touch.
    """
    sign = 1.0 if higher else -1.0
    merit = sign * np.array(value)
    lows, highs = (sign * np.array(bound, dtype=float) for bound in ((low, high) if higher else (high, low)))
    surely = lows[:, None] > highs[None, :]  # [better, worse]; False where a bound is NaN
    ranks = []
    for model, own in enumerate(merit):
        found = {"rank": 1 + int((merit > own).sum())}
        if not np.isnan(lows[model]):
            found["rank_low"] = 1 + int(surely[:, model].sum())
            found["rank_high"] = len(merit) - int(surely[model].sum())
        ranks.append(found)
    return ranks
