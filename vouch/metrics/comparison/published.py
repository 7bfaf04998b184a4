"""Published numbers beside ours, in the faithful protocol and in the clean one."""

import functools
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.tables.compared import REPRODUCED
from vouch.tables.prompts import LETTERS, ORIGINAL
from vouch.tables.published import PUBLISHED

Rows = list[dict[str, Any]]
PLACE = ["dataset", "model"]
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
    rows = rows.rename(columns={"value": "published"}).merge(ours[PLACE].drop_duplicates())
    names = pd.DataFrame([(name, *key) for name, key in NAMES.items()], columns=["metric", "score", "own"])
    rows = rows.merge(names.assign(order=range(len(NAMES))), on="metric")
    for protocol, columns in (("faithful", ["ours"]), ("clean", ["clean", "clean_low", "clean_high"])):
        numbers = dict(zip(("value", "low", "high"), columns, strict=False))
        side = ours[ours["protocol"] == protocol].rename(columns={"metric": "own"} | numbers)
        rows = rows.merge(side[[*PLACE, "score", "own", *columns]], on=[*PLACE, "score", "own"], how="left")
    rows["difference"] = rows["ours"] - rows["published"]
    rows = rows.sort_values([*PLACE, "order"])[REPRODUCED.schema.names]
    found: Rows = pa.Table.from_pandas(rows, REPRODUCED.schema, preserve_index=False).to_pylist()
    return found


def _comparable(metrics: pa.Table) -> pd.DataFrame:
    """Rows of METRICS that were made as the published numbers were."""
    wanted = {"output": LETTERS, "category": "all", "variation": ORIGINAL}
    same = functools.reduce(pc.and_, (pc.equal(metrics[name], value) for name, value in wanted.items()))
    frame = metrics.filter(same).to_pandas()
    known = frame["calibration"].isin(["", "marginal"]) & (frame["alpha"].isna() | (frame["alpha"] == ALPHA))
    return frame[known]
