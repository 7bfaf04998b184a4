"""Published numbers beside ours, in the faithful protocol and in the clean one."""

import functools
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.tables.prompts import LETTERS, ORIGINAL

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


def reproduced(published: Mapping[str, pa.Table], metrics: pa.Table) -> list[dict[str, Any]]:
    """Rows of REPRODUCED from PUBLISHED by dataset and rows of METRICS.

    Models that were published but not scored here are left out; a number that we do not have for a
    scored model is null, as those of sets are for another alpha. Raises UserError for a published metric
    that has no counterpart.
    """
    place = ("dataset", "model", "protocol", "score", "metric")
    ours = {tuple(row[name] for name in place): row for row in _comparable(metrics).to_pylist()}
    scored = {key[:2] for key in ours}
    rows = []
    for dataset in sorted(published):
        for row in published[dataset].to_pylist():
            if row["metric"] not in NAMES:
                raise UserError(
                    f"data/published/{dataset}.parquet: {row['model']}: unknown metric {row['metric']}; "
                    f"{did_you_mean(row['metric'], list(NAMES))}; correct the published table"
                )
            if (dataset, row["model"]) in scored:
                key = NAMES[row["metric"]]
                faithful = ours.get((dataset, row["model"], "faithful", *key), {})
                clean = ours.get((dataset, row["model"], "clean", *key), {})
                rows.append({"dataset": dataset} | _row(row, faithful, clean))
    return sorted(rows, key=lambda row: (row["dataset"], row["model"], list(NAMES).index(row["metric"])))


def _comparable(metrics: pa.Table) -> pa.Table:
    """Rows of METRICS that were made as the published numbers were."""
    calibration, alpha = metrics["calibration"], metrics["alpha"]
    conditions = (
        pc.equal(metrics["output"], LETTERS),
        pc.equal(metrics["category"], "all"),
        pc.equal(metrics["variation"], ORIGINAL),
        pc.is_in(calibration, pa.array(["", "marginal"])),
        pc.or_kleene(pc.is_null(alpha), pc.equal(alpha, ALPHA)),
    )
    return metrics.filter(functools.reduce(pc.and_, conditions))


def _row(
    published: Mapping[str, Any], faithful: Mapping[str, Any], clean: Mapping[str, Any]
) -> dict[str, Any]:
    ours = faithful.get("value")
    return {
        "model": published["model"],
        "name": published["name"],
        "metric": published["metric"],
        "published": published["value"],
        "ours": ours,
        "difference": None if ours is None else ours - published["value"],
        "clean": clean.get("value"),
        "clean_low": clean.get("low"),
        "clean_high": clean.get("high"),
    }
