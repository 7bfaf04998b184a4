"""letters: what a model gives to each option letter at the last position of a prompt.

prompt       id of the prompt
logits       one per option letter, A first, in the dtype in which the source gave them; released
             files may hold more letters than the prompt has options, never fewer
letter_mass  share of the full vocabulary's probability on the letters; null where unknown
entropy      of the full vocabulary at that position, nats; null where unknown
pixels       SHA-256 over the decoded pictures that were shown, or empty
engine       name and revision of the engine, `transformers/1`
device       cpu | cuda | ... | released
flags        low_mass (letter mass < 0.5), other_spelling (the model prefers `A` where ` A` is read, or the
             reverse), control_tokens (the text holds a token with a meaning of its own), truncated, ...
"""

from pathlib import Path

import pyarrow as pa

from stages.contracts.table import Table

LETTERS = Table(
    "letters",
    1,
    pa.schema(
        [
            ("prompt", pa.string()),
            ("logits", pa.list_(pa.float32())),
            ("letter_mass", pa.float32()),
            ("entropy", pa.float32()),
            ("pixels", pa.string()),
            ("engine", pa.string()),
            ("device", pa.string()),
            ("flags", pa.list_(pa.string())),
        ]
    ),
    alternatives={"logits": (pa.list_(pa.float64()),)},
)


def letters_path(model: str, dataset: str) -> Path:
    """Where the letters of a model on a dataset lie."""
    return Path("data/responses") / model / f"{dataset}.letters.parquet"
