"""outcomes: per-prompt scores of all models on one dataset. A row for each model, prompt and output."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.tables.table import Table, columns, per_dataset

UNPARSED = "unparsed"
REFUSAL = "refusal"
SEVERAL = "several"
JUDGE = "judge"
UNREAD = (UNPARSED, REFUSAL)
"""Values of `parser` where a text comes to no answer at all."""

OUTCOMES = Table(
    "outcomes",
    6,
    columns("""
model, dataset, prompt, item, group, variation  string
output                    string   what was asked for (OUTPUTS of prompts): letters | likelihood | text
effect                    string   how the variation flips the answers of this prompt, of EFFECTS of prompts
parser                    string   of a generated answer: the parser (vouch/metrics/text/parsers) or answer
                                   metric (vouch/metrics/text/answers) that read it; REFUSAL where the model
                                   declined, SEVERAL where it named several options and chose none, UNPARSED
                                   where nothing could be read. JUDGE where a model as judge found the option
                                   that no rule could. Null for letters and likelihood
reason                    string   why a generated answer was read so: the rule that decided and its words, at
                                   most 120 characters; null where the parser gives none
answer                    string   what a generated answer came to, at most 500 characters: the text of the
                                   chosen option (several: joined by ` | `), else the normalised text. Null
                                   for letters and likelihood
predicted                 int32    0-based index of the option with the largest logit or likelihood (ties:
                                   lowest), or that a generated answer names; null where none or several are
                                   named, and for open questions
chosen                    int32    the same option as its index among the item's options, DONT_KNOW or
                                   NONE_OF_ABOVE for one that the template adds, whatever the order shown
                                   (ties: the lowest index, added options last)
correct                   bool     whether `predicted` is among the answers; for open questions whether the
                                   answer metric gives at least one half. What is UNPARSED, REFUSAL or SEVERAL
                                   is not correct. Null where a metric has no scale
confidence                float64  softmax probability of `predicted`; of a generated text exp(-mean NLL of
                                   its tokens), null where no token is known
entropy                   float64  of the softmax over the options, nats; null for a generated text
half                      string   calibration | test in the faithful split; null for a generated text
size_lac, size_aps        int32    size of the prediction set in the faithful split, null for calibration rows
covered_lac, covered_aps  bool     whether that set holds an answer, null for calibration rows
clean_correct             float64  like `correct` on a scale of 0 to 1, a tie at the top shared equally, an
                                   open answer as its metric grades it; null for a row that the clean protocol
                                   drops
clean_covered_lac, clean_covered_aps  float64
clean_size_lac, clean_size_aps  float64
                                   means over the clean splits in which the item was a test item; null where
                                   it never was
"""),
    rows_per_group=1 << 14,
)
outcomes_path = per_dataset("data/scores/{}.outcomes.parquet")


Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_TEXTS = 1_000_000  # numbers of answers that are no single option start here


def contents(outcomes: pa.Table) -> Floats:
    """[rows] number of what was answered, equal within one call where it is the same: the option chosen,
    else the answer generated; NaN where nothing could be read. Needs chosen, answer and parser."""
    texts = floats(outcomes["answer"].combine_chunks().dictionary_encode().indices)
    unread = pc.is_in(outcomes["parser"], pa.array(UNREAD)).to_numpy()
    chosen = floats(outcomes["chosen"])
    return np.where(np.isnan(chosen), np.where(unread, np.nan, _TEXTS + texts), chosen)


def grades(outcomes: pa.Table) -> Floats:
    """[rows] 0 to 1: of the clean protocol, else of the faithful; NaN where neither grades. Needs both."""
    return floats(pc.coalesce(outcomes["clean_correct"], outcomes["correct"].cast(pa.float64())))


def flips(answer: Floats, original: Floats, grade: Floats, kept: Bools) -> Floats:
    """[pairs] 1 where the other prompt did to the answer what it should not, 0 where it did not, NaN where
    that cannot be said.

    answer, original: contents, with the other and with the original prompt. grade: of the original. kept:
    whether both prompts ask for the same answer; then another one is a flip, and what could not be read is
    another than anything. Where they ask for opposite ones, a right answer that stays is not flipped, and
    a wrong one says nothing.
    """
    other = answer != original
    return np.where(kept, other, np.where(grade == 1, ~other, np.nan)).astype(float)


def floats(values: pa.ChunkedArray | pa.Array) -> Floats:
    """[rows] float64, NaN for null."""
    return np.asarray(pc.fill_null(values.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False))
