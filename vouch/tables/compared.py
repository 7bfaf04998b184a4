"""What needs several models or variations: leaderboard, differences, and published against ours.

LEADERBOARD    every metric of every model on one page, with ranks: rank_low, rank_high are the best and
             worst rank that the intervals allow
DIFFERENCES  paired difference of accuracy between two models on the same items and output (ask), interval
             clustered by group, p-value after Holm's correction over the pairs of a dataset and output
REPRODUCED   published numbers beside ours in both protocols, all of letters
VARIATIONS   what each variation other than `original` does to a model, on the same items and output in the
             clean protocol: `value` in the variation, of the original, their difference and its interval,
             clustered by group; null where the items are too few for one. metric: accuracy; confidence
             (mean); set_size with its score, sets calibrated anew for each variation; flipped, the share of
             the items for which another option was chosen or another answer generated, with 0 as the
             original's. A refusal or unparsed answer equals no other. Where the variation turns the answers,
             `unturned` takes its place: of the items answered right in the original, the share whose answer
             stayed the same
DIMENSIONS   by category, which may be that of whole datasets: `value`, the mean accuracy over its datasets,
             and the model's rank. dimension `overall`: means of both over the dimensions. parts: how many
             datasets or dimensions
"""

from pathlib import Path

import pyarrow as pa

from vouch.tables.metrics import METRICS
from vouch.tables.table import Table

OVERALL = "overall"
"""The dimension that stands for all of them."""

LEADERBOARD = Table(
    "leaderboard",
    3,
    pa.schema([*METRICS.schema, ("rank", pa.int32()), ("rank_low", pa.int32()), ("rank_high", pa.int32())]),
    rows_per_group=METRICS.rows_per_group,
)
DIFFERENCES = Table(
    "differences",
    3,
    pa.schema(
        [
            ("dataset", pa.string()),
            ("output", pa.string()),
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
    2,
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
VARIATIONS = Table(
    "variations",
    3,
    pa.schema(
        [
            ("dataset", pa.string()),
            ("model", pa.string()),
            ("output", pa.string()),
            ("variation", pa.string()),
            ("metric", pa.string()),
            ("score", pa.string()),
            ("value", pa.float64()),
            ("original", pa.float64()),
            ("difference", pa.float64()),
            ("low", pa.float64()),
            ("high", pa.float64()),
            ("items", pa.int64()),
        ]
    ),
)

DIMENSIONS = Table(
    "dimensions",
    2,
    pa.schema(
        [
            ("variation", pa.string()),
            ("output", pa.string()),
            ("protocol", pa.string()),
            ("dimension", pa.string()),
            ("model", pa.string()),
            ("value", pa.float64()),
            ("rank", pa.float64()),
            ("parts", pa.int64()),
        ]
    ),
)

DIMENSIONS_PATH = Path("data/compare/dimensions.parquet")
LEADERBOARD_PATH = Path("data/compare/leaderboard.parquet")
DIFFERENCES_PATH = Path("data/compare/differences.parquet")
REPRODUCED_PATH = Path("data/compare/reproduced.parquet")
VARIATIONS_PATH = Path("data/compare/variations.parquet")
