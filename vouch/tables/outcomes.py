"""outcomes: per-prompt scores of one model. A row for each prompt and each output that it was asked for.

model, dataset, prompt, item, group, variation
output       what was read out (OUTPUTS of prompts): letters | likelihood | text
effect       how the variation turns the answers of this prompt, of EFFECTS of prompts
parser       of a generated answer: the parser (vouch/metrics/text/parsers) or answer metric
             (vouch/metrics/text/answers) that read it; REFUSAL where the model declined, UNPARSED where
             nothing could be read. Null for letters and likelihood
answer       what a generated answer came to, at most 500 characters: the text of the chosen option (several:
             joined by ` | `), else the normalised text. Null for letters and likelihood
predicted    0-based index of the option with the largest logit or likelihood (ties: lowest), or that a
             generated answer names; null where none or several are named, and for open questions
chosen       the same option as its index among the item's options, DONT_KNOW or NONE_OF_ABOVE for one that
             the template adds, whatever the order shown (ties: the lowest index, added options last)
correct      whether `predicted` is among the answers; for open questions whether the answer metric gives at
             least one half. An unparsed answer or a refusal is not correct. Null where a metric has no scale
confidence   softmax probability of `predicted`; of a generated text exp(-mean NLL of its tokens), null where
             no token is known
entropy      of the softmax over the options, nats; null for a generated text
half         calibration | test in the faithful split; null for a generated text
size_lac, size_aps      size of the prediction set in the faithful split, null for calibration rows
covered_lac, covered_aps  whether that set holds an answer, null for calibration rows
clean_correct  like `correct` on a scale of 0 to 1, a tie at the top shared equally, an open answer as its
             metric grades it; null for a row that the clean protocol drops
clean_covered_lac, clean_covered_aps, clean_size_lac, clean_size_aps
             means over the clean splits in which the item was a test item; null where it never was
"""

from pathlib import Path

import pyarrow as pa

from vouch.tables.table import Table

UNPARSED = "unparsed"
REFUSAL = "refusal"

OUTCOMES = Table(
    "outcomes",
    5,
    pa.schema(
        [
            ("model", pa.string()),
            ("dataset", pa.string()),
            ("prompt", pa.string()),
            ("item", pa.string()),
            ("group", pa.string()),
            ("variation", pa.string()),
            ("output", pa.string()),
            ("effect", pa.string()),
            ("parser", pa.string()),
            ("answer", pa.string()),
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
    rows_per_group=1 << 14,
)


def outcomes_path(model: str) -> Path:
    """Where the per-prompt scores of a model lie."""
    return Path("data/scores") / f"{model}.outcomes.parquet"
