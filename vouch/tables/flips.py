"""Whether another prompt led to another answer: what is flipped, unturned or turned, of rows of OUTCOMES."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.tables.outcomes import REFUSAL, UNPARSED

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_TEXTS = 1_000_000  # numbers of answers that are no single option start here


def contents(outcomes: pa.Table) -> Floats:
    """[rows] number of what was answered, equal within one call where it is the same: the option chosen,
    else the answer generated; NaN where nothing could be read. Needs chosen, answer and parser."""
    texts = _floats(outcomes["answer"].combine_chunks().dictionary_encode().indices)
    unread = pc.is_in(outcomes["parser"], pa.array([UNPARSED, REFUSAL])).to_numpy()
    chosen = _floats(outcomes["chosen"])
    return np.where(np.isnan(chosen), np.where(unread, np.nan, _TEXTS + texts), chosen)


def grades(outcomes: pa.Table) -> Floats:
    """[rows] 0 to 1: of the clean protocol, else of the faithful; NaN where neither grades. Needs both."""
    return _floats(pc.coalesce(outcomes["clean_correct"], outcomes["correct"].cast(pa.float64())))


def flips(answer: Floats, original: Floats, grade: Floats, kept: Bools) -> Floats:
    """[pairs] 1 where the other prompt did to the answer what it should not, 0 where it did not, NaN where
    that cannot be said.

    answer, original: contents, with the other and with the original prompt. grade: of the original. kept:
    whether both prompts ask for the same answer; then another one is a flip, and what could not be read is
    another than anything. Where they ask for opposite ones, a right answer that stays is unturned, and a
    wrong one says nothing.
    """
    other = answer != original
    return np.where(kept, other, np.where(grade == 1, ~other, np.nan)).astype(float)


def _floats(values: pa.ChunkedArray | pa.Array) -> Floats:
    return np.asarray(pc.fill_null(values.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False))
