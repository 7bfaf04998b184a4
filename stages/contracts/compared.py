"""What needs several models: standings, paired differences, and published against ours.

STANDINGS    every metric of every model on one page, with ranks: rank_low, rank_high are the best and
             worst rank that the intervals allow
DIFFERENCES  paired difference of accuracy between two models on the same items, interval clustered by
             group, p-value after Holm's correction over the pairs of a dataset
REPRODUCED   published numbers beside ours in both readings
"""

from pathlib import Path

import pyarrow as pa

from stages.contracts.metrics import METRICS
from stages.contracts.table import Table

STANDINGS = Table(
    "standings",
    1,
    pa.schema([*METRICS.schema, ("rank", pa.int32()), ("rank_low", pa.int32()), ("rank_high", pa.int32())]),
)
DIFFERENCES = Table(
    "differences",
    1,
    pa.schema(
        [
            ("dataset", pa.string()),
            ("first", pa.string()),
            ("second", pa.string()),
            ("difference", pa.float64()),
            ("low", pa.float64()),
            ("high", pa.float64()),
            ("p", pa.float64()),
            ("p_holm", pa.float64()),
            ("items", pa.int64()),
        ]
    ),
)
REPRODUCED = Table(
    "reproduced",
    1,
    pa.schema(
        [
            ("dataset", pa.string()),
            ("model", pa.string()),
            ("name", pa.string()),
            ("metric", pa.string()),
            ("published", pa.float64()),
            ("ours", pa.float64()),
            ("difference", pa.float64()),
            ("clean", pa.float64()),
            ("clean_low", pa.float64()),
            ("clean_high", pa.float64()),
        ]
    ),
)

STANDINGS_PATH = Path("data/compare/standings.parquet")
DIFFERENCES_PATH = Path("data/compare/differences.parquet")
REPRODUCED_PATH = Path("data/compare/reproduced.parquet")
