"""metrics: aggregate scores of one model, long form, always in both protocols.

model, dataset
variation  of the prompts, see PROMPTS; empty for a mean over several, which `score` names
output    what was read out (OUTPUTS of prompts): letters | likelihood | text
protocol  faithful (the authors' code, defects included) | clean (groups whole, repeated splits, intervals)
category  a category of the dataset, or `all`
calibration  how the threshold of the prediction sets was calibrated: marginal (one threshold for all), or
          apart for each class | category | options (number of options); empty where there are no sets
alpha     target miscoverage of these sets; null where there are none
score     nonconformity score (lac, aps), `mean` for their mean; tTEMPERATURE (`t0.7`) for what rests on
          samples at that temperature, first_tTEMPERATURE for what rests on the first one of each numbered
          prompt alone; for a mean over variations which ones: a family (LR, LS, VR, VS),
          reformulation, semantic, language, vision or every_prompt; or empty where none applies
metric    accuracy, coverage, set_size, uacc, ece, mce, dont_know_rate, none_rate, tie_rate, ...
          (docs/statistics.md has all of them)
value     the number; low, high: its 95 % interval, null where there is none
items     how many items the number rests on
"""

from pathlib import Path

import pyarrow as pa

from vouch.tables.table import Table

METRICS = Table(
    "metrics",
    3,
    pa.schema(
        [
            ("model", pa.string()),
            ("dataset", pa.string()),
            ("variation", pa.string()),
            ("output", pa.string()),
            ("protocol", pa.string()),
            ("category", pa.string()),
            ("calibration", pa.string()),
            ("alpha", pa.float64()),
            ("score", pa.string()),
            ("metric", pa.string()),
            ("value", pa.float64()),
            ("low", pa.float64()),
            ("high", pa.float64()),
            ("items", pa.int64()),
        ]
    ),
    rows_per_group=1 << 16,  # read whole; smaller than in many groups
)


def metrics_path(model: str) -> Path:
    """Where the aggregate scores of a model lie."""
    return Path("data/scores") / f"{model}.metrics.parquet"
