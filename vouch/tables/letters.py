"""letters: what a model gives to each option letter at the first position of its answer.

The letters of a prompt are its `marks` (prompts): A-Z, or a-z or 1-9 where those were shown.

prompt        id of the prompt
logits        one per option letter, in their order, in the dtype in which the source gave them; released
              files may hold more letters than the prompt has options, never fewer. An API model gives
              log-probabilities; a letter that its server left out is -inf. Null without an answer
upper         where letters were left out (flag censored): the largest values `logits` can have; null
              elsewhere. The truth lies between, so a score is taken at both ends
spelling      what stood before each letter of `logits`: nothing or a space; null where unknown
other_logits  the same letters in the other spelling, null where it has no tokens of its own
letter_mass   share of the full vocabulary's probability on the letters of both spellings; null where unknown
bracket_mass  the same on `(`, with which some models begin; null where unknown
nll           of the most likely first token, nats; null where unknown
entropy       of the full vocabulary at that position, nats; null where unknown
pixels        SHA-256 over the decoded pictures that were shown, or empty
engine        name of the engine, its revision and that of how pictures are decoded, `transformers/2.1`
mode          how the engine computed it, trie | batch | plain | ...; null where unknown
rows          rows of the forward pass; smaller than `extract.batch` where memory ran out; null where unknown
device        cpu | cuda | ... | released | server
flags         low_mass (letter mass < 0.5), other_spelling (the model prefers `A` where ` A` is read, or the
              reverse), control_tokens (the text holds a token with a meaning of its own), close (the two best
              letters are less than 0.25 apart), censored, other_model (a server answered for another model)
problem       why there is no answer, one line; null where there is one

Scores read prompt, logits, upper and problem. The other columns are for people and exports so far.
"""

from pathlib import Path

import pyarrow as pa

from vouch.tables.table import Table

# Of every answer, whatever was asked.
ANSWER_FIELDS = [
    ("pixels", pa.string()),
    ("engine", pa.string()),
    ("mode", pa.string()),
    ("rows", pa.int32()),
    ("device", pa.string()),
    ("flags", pa.list_(pa.string())),
    ("problem", pa.string()),
]

LETTERS = Table(
    "letters",
    2,
    pa.schema(
        [
            ("prompt", pa.string()),
            ("logits", pa.list_(pa.float32())),
            ("upper", pa.list_(pa.float32())),
            ("spelling", pa.string()),
            ("other_logits", pa.list_(pa.float32())),
            ("letter_mass", pa.float32()),
            ("bracket_mass", pa.float32()),
            ("nll", pa.float32()),
            ("entropy", pa.float32()),
            *ANSWER_FIELDS,
        ]
    ),
    alternatives={"logits": (pa.list_(pa.float64()),)},
    measured=True,
)


def letters_path(model: str, dataset: str) -> Path:
    """Where the letters of a model on a dataset lie."""
    return Path("data/responses") / model / f"{dataset}.letters.parquet"
