"""likelihood: how likely a model finds each option text as the continuation of a prompt.

prompt  id of the prompt
option  0-based index of the option as shown
nll     summed negative log-likelihood of the option's tokens, nats
tokens  number of tokens, bytes: number of UTF-8 bytes, so that every reduction comes from one pass
"""

from pathlib import Path

import pyarrow as pa

from stages.contracts.table import Table

LIKELIHOOD = Table(
    "likelihood",
    1,
    pa.schema(
        [
            ("prompt", pa.string()),
            ("option", pa.int32()),
            ("nll", pa.float64()),
            ("tokens", pa.int32()),
            ("bytes", pa.int32()),
        ]
    ),
)


def likelihood_path(model: str, dataset: str) -> Path:
    """Where the option likelihoods of a model on a dataset lie."""
    return Path("data/responses") / model / f"{dataset}.likelihood.parquet"
