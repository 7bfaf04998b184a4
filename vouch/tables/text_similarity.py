"""text similarity: how similar sampled texts are to the greedy text of the same prompt, by a pinned text encoder.

A row for each prompt of the variation `original` and temperature that a model was sampled at; schema-only
where no encoder is named.

model, dataset, prompt
temperature           of the samples
encoder               name in models.lock and the first digits of the pin's digest
sample_bert           mean over the samples of BERTScore F1 with the greedy text, at most 1
sample_bert_expanded  the same after an answer that is an option's letter was followed by that option's text
sample_cosine         mean over the samples of the cosine of the texts' mean vectors
"""

from pathlib import Path

import pyarrow as pa

from vouch.tables.table import Table

SIMILARITIES = ("sample_bert", "sample_bert_expanded", "sample_cosine")

TEXT_SIMILARITY = Table(
    "text_similarity",
    1,
    pa.schema(
        [
            ("model", pa.string()),
            ("dataset", pa.string()),
            ("prompt", pa.string()),
            ("temperature", pa.float64()),
            ("encoder", pa.string()),
            *((name, pa.float64()) for name in SIMILARITIES),
        ]
    ),
)

TEXT_SIMILARITY_PATH = Path("data/text_similarity.parquet")
