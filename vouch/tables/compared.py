"""What needs several models or variations: leaderboard, differences, and published against ours."""

from pathlib import Path

import pyarrow as pa

from vouch.tables.metrics import METRICS
from vouch.tables.table import Table, columns

OVERALL = "overall"
"""The dimension that stands for all of them."""

LEADERBOARD = Table(  # every metric of every model on one page
    "leaderboard",
    3,
    pa.schema(
        [
            *METRICS.schema,
            *columns("""
rank                 int32
rank_low, rank_high  int32  the best and worst rank that the intervals allow
"""),
        ]
    ),
    rows_per_group=METRICS.rows_per_group,
)
DIFFERENCES = Table(  # paired, between two models on the same items and output
    "differences",
    3,
    columns("""
dataset, output, first, second  string
difference  float64  of accuracy, first minus second
low, high   float64  its 95 % interval, clustered by group
p           float64
p_holm      float64  after Holm's correction over the pairs of a dataset and output
items       int64
"""),
)
REPRODUCED = Table(  # published numbers beside ours in both protocols, all of letters
    "reproduced",
    2,
    columns("""
dataset, model, name, metric    string
published, ours, difference     float64  ours: in the faithful protocol
clean, clean_low, clean_high    float64
"""),
)
VARIATIONS = Table(  # what each variation other than `original` does to a model, clean protocol
    "variations",
    4,
    columns("""
dataset, model, output, variation  string
metric      string   accuracy; confidence (mean); set_size with its score, sets calibrated anew for each
                     variation; flipped, the share of the items for which another option was chosen or another
                     answer generated, with 0 as the original's. A refusal or unparsed answer equals no other.
                     Where the variation flips the answers, `not_flipped` takes its place: of the items
                     answered right in the original, the share whose answer stayed the same
score       string
value       float64  in the variation
original    float64  of the original, on the same items and output
difference  float64
low, high   float64  its 95 % interval, clustered by group; null where the items are too few for one
items       int64
"""),
)
DIMENSIONS = Table(  # by category, which may be that of whole datasets
    "dimensions",
    2,
    columns("""
variation, output, protocol  string
dimension    string   a category, or OVERALL: means of both numbers over the dimensions
model        string
value        float64  mean accuracy over the datasets of the dimension
rank         float64
parts        int64    how many datasets or dimensions
"""),
)

DIMENSIONS_PATH = Path("data/compare/dimensions.parquet")
LEADERBOARD_PATH = Path("data/compare/leaderboard.parquet")
DIFFERENCES_PATH = Path("data/compare/differences.parquet")
REPRODUCED_PATH = Path("data/compare/reproduced.parquet")
VARIATIONS_PATH = Path("data/compare/variations.parquet")
