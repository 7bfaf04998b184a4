"""signals: what a model gives away of itself on each prompt, for ranking models without labels.

One row per answered prompt of the variation `original` and output that the clean protocol keeps; of a
generated text one more row for each temperature that was sampled.

model, dataset, prompt, group
output         what was read out (OUTPUTS of prompts): letters | likelihood | text
temperature    of the samples that the row speaks of; null for the answer itself
performance    how right the answer is, 0 ... 1, a tie at the top shared equally; of an open question the
               value of the dataset's first answer metric, which may have no largest one; null where unknown
answers        places of the right options; null for a generated text
probabilities  softmax over the options as shown; null for a generated text
nll_*, ent_*   of the tokens of the greedy text (TOKENS; vouch/metrics/ranking/scores.py), nats and shares
               of the largest possible entropy; null where unknown
sample_bleu, agreement   of the samples at `temperature` with the greedy text (SAMPLES), 0 ... 1

`performance` and `answers` rest on labels. All else does not.
"""

from pathlib import Path

import pyarrow as pa

from vouch.tables.table import Table

TOKENS = (
    *("nll_first", "nll_last", "nll_min", "nll_avg"),
    *("ent_first", "ent_last", "ent_max", "ent_avg"),
)
SAMPLES = ("sample_bleu", "agreement")

LABEL_FREE = Table(
    "label_free",
    1,
    pa.schema(
        [
            ("model", pa.string()),
            ("dataset", pa.string()),
            ("prompt", pa.string()),
            ("group", pa.string()),
            ("output", pa.string()),
            ("temperature", pa.float64()),
            ("performance", pa.float64()),
            ("answers", pa.list_(pa.int32())),
            ("probabilities", pa.list_(pa.float64())),
            *((name, pa.float64()) for name in (*TOKENS, *SAMPLES)),
        ]
    ),
)


def label_free_path(model: str) -> Path:
    """Where the signals of a model lie."""
    return Path("data/scores") / f"{model}.label_free.parquet"
