"""What a model answers, in three tables of a model and dataset: letters, likelihood, text.

letters: what a model gives to each option letter at the first position of its answer. The letters of a prompt
are its `marks` (prompts): A-Z, or a-z or 1-9 where those were shown. Scores read prompt, logits, upper,
letter_mass and problem.

likelihood: how likely a model finds each option text as its answer to a prompt. A row for each option.
Scores read prompt, option, nll, tokens, bytes and problem; a null among tokens or bytes leaves out what is
divided by them.

text: what a model generates for a prompt. A row for the greedy text and one for each sample. Scores read all
but the columns of every answer, of which they read problem.

The tables of a model that thinks before it answers have one more column, `reasoning`: the thought after which
this answer was read, without what ends it; null where there was none. Numbers are those of the answer alone.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from vouch.tables.table import Table, columns

LOW_MASS = 0.5
"""Letter mass below which an answer more probably begins with something else than with a letter."""
ANSWER = """
pixels   string    SHA-256 over the decoded pictures that were shown, or empty
engine   string    name of the engine, its revision and that of how pictures are decoded, `transformers/2.1`
mode     string    how the engine computed it, trie | batch | plain | ...; null where unknown
rows     int32     rows of the forward pass; smaller than `extract.batch` where memory ran out; null where
                   unknown
device   string    cpu-x86-64-v3 (kernels that vouch/pipeline/processor.py fixes) | cpu (others) | cuda |
                   ... | released | server
flags    string[]  low_mass (letter mass < 0.5, LOW_MASS), other_spelling (the model prefers `A` where ` A`
                   is read, or the reverse), control_tokens (the text holds a token with a meaning of its
                   own), close (the two best letters are less than 0.25 apart), censored, other_model (a
                   server answered for another model)
problem  string    why there is no answer, one line; null where there is one
"""
"""Columns of every answer, whatever was asked."""
REASONING = pa.field("reasoning", pa.string())

LETTERS = Table(
    "letters",
    2,
    columns(
        """
prompt        string     id of the prompt
logits        float32[]  one per option letter, in their order, in the dtype in which the source gave them;
                         released files may hold more letters than the prompt has options, never fewer. An API
                         model gives log-probabilities; a letter that its server left out is -inf. Null
                         without an answer
upper         float32[]  where letters were left out (flag censored): the largest values `logits` can have;
                         null elsewhere. The truth lies between, so a score is taken at both ends
spelling      string     what stood before each letter of `logits`: nothing or a space, as the model's chat
                         template or the answer's beginning has it; null where unknown
other_logits  float32[]  the same letters in the other spelling, null where it has no tokens at this place
letter_mass   float32    share of the full vocabulary's probability on the letters of both spellings, at the
                         place where they are read: that of digits is often after a space; null where unknown
bracket_mass  float32    the same on `(`, with which some models begin; null where unknown
nll           float32    of the most likely first token, nats; null where unknown
entropy       float32    of the full vocabulary at that position, nats; null where unknown
"""
        + ANSWER
    ),
    alternatives={"logits": (pa.list_(pa.float64()),)},
    measured=True,
)
LIKELIHOOD = Table(
    "likelihood",
    2,
    columns(
        """
prompt  string   id of the prompt
option  int32    0-based index of the option as shown
nll     float64  summed negative log-likelihood of the option's tokens, nats; null without an answer. With the
                 end-of-sequence token for encoder-decoder models, without for the others (as in ReForm-Eval,
                 Li et al. 2023)
tokens  int32    number of tokens in that sum
bytes   int32    UTF-8 bytes of the option; so every reduction comes from one pass
"""
        + ANSWER
    ),
    measured=True,
)
TEXT = Table(
    "text",
    2,
    columns(
        """
prompt       string     id of the prompt
temperature  float32    of sampling; 0 for greedy decoding
sample       int32      0 for greedy decoding, 1 ... T for the samples at a temperature
text         string     the generated text without the end-of-sequence token; null without an answer
logprobs     float32[]  log-probability (at temperature 1) of each generated token, nats; with the
                        end-of-sequence token
entropies    float32[]  of the full vocabulary (at temperature 1) at each of these steps, divided by the
                        logarithm of the number of tokens; null where a server does not tell
eos          int32      0-based position of the end-of-sequence token, null where `max_tokens` cut the text
"""
        + ANSWER
    ),
)


class Response(NamedTuple):
    """A table of answers. path: where that of a model on a dataset lies."""

    table: Table
    path: Callable[[str, str], Path]


def _response(table: Table) -> Response:
    return Response(
        table, lambda model, dataset: Path(f"data/responses/{dataset}/{model}.{table.name}.parquet")
    )


RESPONSES: Mapping[str, Response] = {table.name: _response(table) for table in (LETTERS, LIKELIHOOD, TEXT)}
"""What is asked -> where its answers go."""
letters_path, likelihood_path, text_path = (found.path for found in RESPONSES.values())


def schema(output: str, reasoning: bool) -> pa.Schema:
    """Columns of a table of answers. reasoning: of a model that thinks."""
    whole = RESPONSES[output].table.schema
    return whole.append(REASONING) if reasoning else whole
