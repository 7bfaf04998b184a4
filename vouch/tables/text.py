"""text: what a model generates for a prompt. A row for the greedy text and one for each sample.

prompt       id of the prompt
temperature  of sampling; 0 for greedy decoding
sample       0 for greedy decoding, 1 ... T for the samples at a temperature
text         the generated text without the end-of-sequence token; null without an answer
logprobs     log-probability (at temperature 1) of each generated token, nats; with the end-of-sequence token
entropies    of the full vocabulary (at temperature 1) at each of these steps, divided by the logarithm of
             the number of tokens; null where a server does not tell
eos          0-based position of the end-of-sequence token, null where `max_tokens` cut the text
pixels, engine, mode, rows, device, flags, problem   as in letters

Scores read all of this but the columns that are as in letters, of which they read problem.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from vouch.tables.letters import ANSWER_FIELDS, LETTERS, letters_path
from vouch.tables.likelihood import LIKELIHOOD, likelihood_path
from vouch.tables.prompts import OUTPUTS
from vouch.tables.table import Table

TEXT = Table(
    "text",
    2,
    pa.schema(
        [
            ("prompt", pa.string()),
            ("temperature", pa.float32()),
            ("sample", pa.int32()),
            ("text", pa.string()),
            ("logprobs", pa.list_(pa.float32())),
            ("entropies", pa.list_(pa.float32())),
            ("eos", pa.int32()),
            *ANSWER_FIELDS,
        ]
    ),
)


def text_path(model: str, dataset: str) -> Path:
    """Where the generated texts of a model on a dataset lie."""
    return Path("data/responses") / model / f"{dataset}.text.parquet"


class Response(NamedTuple):
    """A table of answers. path: where that of a model on a dataset lies."""

    table: Table
    path: Callable[[str, str], Path]


# What is asked -> where its answers go.
RESPONSES: Mapping[str, Response] = dict(
    zip(
        OUTPUTS,
        (
            Response(LETTERS, letters_path),
            Response(LIKELIHOOD, likelihood_path),
            Response(TEXT, text_path),
        ),
        strict=True,
    )
)
