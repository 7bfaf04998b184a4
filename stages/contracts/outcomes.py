"""outcomes: per-prompt scores of one model.

model, dataset, prompt, item, group, variation
predicted    0-based index of the option with the largest logit (ties: lowest), null where unknown
chosen       the same option as its index among the item's options, DONT_KNOW or NONE_OF_ABOVE for one that
             the style adds, whatever the order shown (ties: the lowest index, added options last)
correct      whether `predicted` is among the answers, null where unknown
confidence   softmax probability of `predicted`
entropy      of the softmax over the options, nats
half         calibration | test in the faithful split
size_lac, size_aps      size of the prediction set in the faithful split, null for calibration rows
covered_lac, covered_aps  whether that set holds an answer, null for calibration rows
clean_correct  like `correct` on a scale of 0 to 1, a tie at the top shared equally; null for a row that the
             clean reading drops
clean_covered_lac, clean_covered_aps, clean_size_lac, clean_size_aps
             means over the clean splits in which the item was a test item; null where it never was
"""

from pathlib import Path

import pyarrow as pa

from stages.contracts.table import Table

OUTCOMES = Table(
    "outcomes",
    2,
    pa.schema(
        [
            ("model", pa.string()),
            ("dataset", pa.string()),
            ("prompt", pa.string()),
            ("item", pa.string()),
            ("group", pa.string()),
            ("variation", pa.string()),
            ("predicted", pa.int32()),
            ("chosen", pa.int32()),
            ("correct", pa.bool_()),
            ("confidence", pa.float64()),
            ("entropy", pa.float64()),
            ("half", pa.string()),
            ("size_lac", pa.int32()),
            ("size_aps", pa.int32()),
            ("covered_lac", pa.bool_()),
            ("covered_aps", pa.bool_()),
            ("clean_correct", pa.float64()),
            ("clean_covered_lac", pa.float64()),
            ("clean_covered_aps", pa.float64()),
            ("clean_size_lac", pa.float64()),
            ("clean_size_aps", pa.float64()),
        ]
    ),
)


def outcomes_path(model: str) -> Path:
    """Where the per-prompt scores of a model lie."""
    return Path("data/scores") / f"{model}.outcomes.parquet"
