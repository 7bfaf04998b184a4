"""text: what a model generates for a prompt.

prompt    id of the prompt
sample    0 for greedy decoding, 1 ... T for samples
text      the generated text
logprobs  log-probability of each generated token, nats
entropies entropy of the full vocabulary at each step, divided by the log of its size
eos       0-based position of the end-of-sequence token, null where generation was cut
"""

from pathlib import Path

import pyarrow as pa

from stages.contracts.table import Table

TEXT = Table(
    "text",
    1,
    pa.schema(
        [
            ("prompt", pa.string()),
            ("sample", pa.int32()),
            ("text", pa.string()),
            ("logprobs", pa.list_(pa.float32())),
            ("entropies", pa.list_(pa.float32())),
            ("eos", pa.int32()),
        ]
    ),
)


def text_path(model: str, dataset: str) -> Path:
    """Where the generated texts of a model on a dataset lie."""
    return Path("data/responses") / model / f"{dataset}.text.parquet"
