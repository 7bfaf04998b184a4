"""likelihood: how likely a model finds each option text as its answer to a prompt. A row for each option.

prompt  id of the prompt
option  0-based index of the option as shown
nll     summed negative log-likelihood of the option's tokens, nats; null without an answer. With the
        end-of-sequence token for encoder-decoder models, without for the others (as in ReForm-Eval,
        Li et al. 2023)
tokens  number of tokens in that sum, bytes: UTF-8 bytes of the option; so every reduction comes from one pass
pixels, engine, mode, rows, device, flags, problem   as in letters

Scores read prompt, option, nll, tokens, bytes and problem; a null among tokens or bytes leaves out what is
divided by them.
"""

from pathlib import Path

import pyarrow as pa

from vouch.tables.letters import ANSWER_FIELDS
from vouch.tables.table import Table

LIKELIHOOD = Table(
    "likelihood",
    2,
    pa.schema(
        [
            ("prompt", pa.string()),
            ("option", pa.int32()),
            ("nll", pa.float64()),
            ("tokens", pa.int32()),
            ("bytes", pa.int32()),
            *ANSWER_FIELDS,
        ]
    ),
    measured=True,
)


def likelihood_path(model: str, dataset: str) -> Path:
    """Where the option likelihoods of a model on a dataset lie."""
    return Path("data/responses") / model / f"{dataset}.likelihood.parquet"
