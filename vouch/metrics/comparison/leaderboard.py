"""Every metric of every model in one table, ranked where more or less of it is better."""

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from vouch.metrics.registry import metrics as declared
from vouch.metrics.unranked import Place, comparable
from vouch.tables.compared import LEADERBOARD

SPLIT_ONLY = ("coverage", "set_size", "uacc")
PLACE = [
    *("dataset", "variation", "output", "protocol", "category"),
    *("calibration", "alpha", "score", "metric"),
]


def leaderboard(metrics: pa.Table, away: Collection[Place] = ()) -> pa.Table:
    """LEADERBOARD from METRICS, by place (a null alpha first) and then by rank and model.

    Equal values share the better rank. Only metrics that the registry calls `ranked` have ranks.
    rank_low: 1 + models that are significantly better; rank_high: last but those significantly worse, with an
    interval that does not touch. Both need an interval that says how another sample of items would come out;
    those of set metrics say how another split would, so these have none. Who is
    away (vouch/metrics/unranked.py) has no rank there.
    """
    frame = metrics.to_pandas()
    frame["alpha"] = frame["alpha"].fillna(-1.0)
    signs = {
        name: 1.0 if each.better == "higher" else -1.0 for name, each in declared().items() if each.ranked
    }
    sign = frame["metric"].map(signs).where(comparable(metrics, away)).to_numpy(float)
    merit = sign * frame["value"].to_numpy()
    bounds = sign[:, None] * frame[["low", "high"]].to_numpy(float)
    bounds[frame["metric"].isin(SPLIT_ONLY)] = np.nan
    low, high = bounds.min(axis=1), bounds.max(axis=1)
    ranks, ranked = np.full((len(frame), 3), np.nan), np.flatnonzero(~np.isnan(sign))
    for place in frame.iloc[ranked].groupby(PLACE, sort=False).indices.values():
        rows = ranked[place]
        better = low[rows][:, None] > high[rows]  # [better, worse]; False where a bound is NaN
        unknown = np.isnan(low[rows])
        ranks[rows, 0] = 1 + (merit[rows][:, None] > merit[rows]).sum(axis=0)
        ranks[rows, 1] = np.where(unknown, np.nan, 1 + better.sum(axis=0))
        ranks[rows, 2] = np.where(unknown, np.nan, len(rows) - better.sum(axis=1))
    frame[["rank", "rank_low", "rank_high"]] = ranks
    frame = frame.sort_values([*PLACE, "rank", "model"], na_position="first")
    frame["alpha"] = frame["alpha"].mask(frame["alpha"] < 0)
    return pa.Table.from_pandas(frame, LEADERBOARD.schema, preserve_index=False)
