"""Every metric of every model in one table, ranked where more or less of it is better.

Published numbers beside ours, in the faithful protocol and in the clean one.

Scores by dimension, and mean ranks over the dimensions (Li et al. 2023, ReForm-Eval).

A dimension is a category: of whole datasets, as the loader of ReForm-Eval gives them, or of parts of some.
"""

import functools
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.registry import metrics as declared
from vouch.metrics.unranked import Place, comparable
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.tables.asked import LETTERS, ORIGINAL, OUTPUTS
from vouch.tables.results import DIMENSIONS, LEADERBOARD, OVERALL, PUBLISHED, REPRODUCED

SPLIT_ONLY = ("coverage", "set_size", "uacc")
LEADERBOARD_KEYS = [
    *("dataset", "variation", "output", "protocol", "category"),
    *("calibration", "alpha", "score", "metric"),
]


def leaderboard(metrics: pa.Table, away: Collection[Place] = ()) -> pa.Table:
    """LEADERBOARD from METRICS, by place (a null alpha first) and then by rank and model.

    Equal values share the better rank. Only metrics that the registry calls `ranked` have ranks.
    rank_low: 1 + models that are significantly better; rank_high: last but those significantly worse, with an
    interval that does not touch. Both need an interval that says how another sample of items would come out;
    those of set metrics say how another split would, so these have none. Who is
    away (vouch/metrics/comparison/leaderboard.py) has no rank there.
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
    for place in frame.iloc[ranked].groupby(LEADERBOARD_KEYS, sort=False).indices.values():
        rows = ranked[place]
        better = low[rows][:, None] > high[rows]  # [better, worse]; False where a bound is NaN
        unknown = np.isnan(low[rows])
        ranks[rows, 0] = 1 + (merit[rows][:, None] > merit[rows]).sum(axis=0)
        ranks[rows, 1] = np.where(unknown, np.nan, 1 + better.sum(axis=0))
        ranks[rows, 2] = np.where(unknown, np.nan, len(rows) - better.sum(axis=1))
    frame[["rank", "rank_low", "rank_high"]] = ranks
    frame = frame.sort_values([*LEADERBOARD_KEYS, "rank", "model"], na_position="first")
    frame["alpha"] = frame["alpha"].mask(frame["alpha"] < 0)
    return pa.Table.from_pandas(frame, LEADERBOARD.schema, preserve_index=False)


Rows = list[dict[str, Any]]
PUBLISHED_KEYS = ["dataset", "model"]
ALPHA = 0.1
"""Target miscoverage of the published sets."""
NAMES = {
    "acc": ("", "accuracy"),
    "coverage": ("mean", "coverage"),
    "coverage_all_LAC": ("lac", "coverage"),
    "coverage_all_APS": ("aps", "coverage"),
    "set_sizes": ("mean", "set_size"),
    "set_sizes_LAC": ("lac", "set_size"),
    "set_sizes_APS": ("aps", "set_size"),
    "uacc": ("mean", "uacc"),
    "uacc_LAC": ("lac", "uacc"),
    "uacc_APS": ("aps", "uacc"),
    "ece": ("", "ece"),
    "mce": ("", "mce"),
    "E_ratio": ("", "dont_know_rate"),
    "F_ratio": ("", "none_rate"),
}
"""Published name of a metric -> our score and metric."""


def reproduced(published: Mapping[str, pa.Table], metrics: pa.Table) -> Rows:
    """Rows of REPRODUCED from PUBLISHED by dataset and METRICS.

    Models that were published but not scored here are left out; a number that we do not have for a
    scored model is null, as those of sets are for another alpha. Raises UserError for a published metric
    that has no counterpart.
    """
    printed = [table.to_pandas().assign(dataset=dataset) for dataset, table in published.items()]
    rows = pd.concat([PUBLISHED.schema.empty_table().to_pandas().assign(dataset=""), *printed])
    for row in rows[~rows["metric"].isin(list(NAMES))].sort_values("dataset").itertuples():
        raise UserError(
            f"data/published/{row.dataset}.parquet: {row.model}: unknown metric {row.metric}; "
            f"{did_you_mean(row.metric, list(NAMES))}; correct the published table"
        )
    ours = _comparable(metrics)
    rows = rows.rename(columns={"value": "published"}).merge(ours[PUBLISHED_KEYS].drop_duplicates())
    names = pd.DataFrame([(name, *key) for name, key in NAMES.items()], columns=["metric", "score", "own"])
    rows = rows.merge(names.assign(order=range(len(NAMES))), on="metric")
    for protocol, columns in (("faithful", ["ours"]), ("clean", ["clean", "clean_low", "clean_high"])):
        numbers = dict(zip(("value", "low", "high"), columns, strict=False))
        side = ours[ours["protocol"] == protocol].rename(columns={"metric": "own"} | numbers)
        rows = rows.merge(
            side[[*PUBLISHED_KEYS, "score", "own", *columns]],
            on=[*PUBLISHED_KEYS, "score", "own"],
            how="left",
        )
    rows["difference"] = rows["ours"] - rows["published"]
    rows = rows.sort_values([*PUBLISHED_KEYS, "order"])[REPRODUCED.schema.names]
    found: Rows = pa.Table.from_pandas(rows, REPRODUCED.schema, preserve_index=False).to_pylist()
    return found


def _comparable(metrics: pa.Table) -> pd.DataFrame:
    """Rows of METRICS that were made as the published numbers were."""
    wanted = {"output": LETTERS, "category": "all", "variation": ORIGINAL}
    same = functools.reduce(pc.and_, (pc.equal(metrics[name], value) for name, value in wanted.items()))
    frame = metrics.filter(same).to_pandas()
    known = frame["calibration"].isin(["", "marginal"]) & (frame["alpha"].isna() | (frame["alpha"] == ALPHA))
    return frame[known]


METRICS = ["accuracy", "cider_d"]
"""Captions have no accuracy: their CIDEr stands for it, 1 for what papers print as 100."""
DIMENSION_KEYS = ["variation", "output", "protocol"]


def dimensions(metrics: pa.Table, categories: Mapping[str, Iterable[str]]) -> Rows:
    """Rows of DIMENSIONS from METRICS and the categories of every dataset's items.

    A dimension's score is the plain mean of its datasets' accuracies, of captions of their CIDEr. A model
    without a score on all datasets that another one has has none in this dimension, and without one in all
    dimensions no overall one.
    """
    only = {dataset: name for dataset, names in categories.items() for name in names if len({*names}) == 1}
    frame = metrics.to_pandas()
    frame = frame[frame["metric"].isin(METRICS) & (frame["score"] == "")].sort_values(["metric", "dataset"])
    whole = frame["category"] == "all"
    frame["dimension"] = frame["category"].mask(whole, frame["dataset"].map(lambda name: only.get(name, "")))
    cells = [*DIMENSION_KEYS, "dimension", "model", "dataset"]
    frame = frame[frame["dimension"] != ""].drop_duplicates(cells)  # accuracy stands first
    found = _complete_means(frame, "dataset", [*DIMENSION_KEYS, "dimension"], ["value"])
    found["rank"] = found.groupby([*DIMENSION_KEYS, "dimension"])["value"].rank("min", ascending=False)
    overall = _complete_means(found, "dimension", DIMENSION_KEYS, ["value", "rank"]).assign(dimension=OVERALL)
    made = pd.concat([found, overall[overall["parts"] > 1]])
    made["last"], made["at"] = made["dimension"] == OVERALL, made["output"].map(OUTPUTS.index)
    made = made.sort_values(["variation", "at", "protocol", "last", "dimension", "model"])
    rows: Rows = made[DIMENSIONS.schema.names].to_dict("records")
    return rows


def _complete_means(frame: pd.DataFrame, part: str, place: list[str], columns: list[str]) -> pd.DataFrame:
    """Means of the columns over the parts of a place, of the models that have all of its parts."""
    groups = frame.groupby([*place, "model"])
    # One part after the other: the mean of pandas is another one in the last digits.
    means = (
        groups[columns]
        .agg(lambda values: sum(values) / len(values))
        .assign(parts=groups[part].nunique())
        .reset_index()
    )
    parts = frame.groupby(place)[part].nunique().rename("whole").reset_index()
    means = means.merge(parts, on=place)
    return means[means["parts"] == means["whole"]]
