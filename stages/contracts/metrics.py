"""metrics: aggregate scores of one model, long form, always in both readings.

model, dataset, variation
reading   faithful (the authors' code, defects included) | clean (groups whole, repeated splits, intervals)
category  a category of the dataset, or `all`
score     nonconformity score (lac, aps), `mean` for their mean, or empty where none applies
metric    accuracy, coverage, set_size, uacc, ece, mce, dont_know_rate, none_rate, tie_rate, ...
value     the number; low, high: its 95 % interval, null where there is none
items     how many items the number rests on
"""

from pathlib import Path

import pyarrow as pa

from stages.contracts.table import Table

METRICS = Table(
    "metrics",
    1,
    pa.schema(
        [
            ("model", pa.string()),
            ("dataset", pa.string()),
            ("variation", pa.string()),
            ("reading", pa.string()),
            ("category", pa.string()),
            ("score", pa.string()),
            ("metric", pa.string()),
            ("value", pa.float64()),
            ("low", pa.float64()),
            ("high", pa.float64()),
            ("items", pa.int64()),
        ]
    ),
)


def metrics_path(model: str) -> Path:
    """Where the aggregate scores of a model lie."""
    return Path("data/scores") / f"{model}.metrics.parquet"
