"""Arrow arrays from flat Python lists. pyarrow's own way in, `pa.array`, loads pandas where it is installed,
which takes as long as the rest of the start."""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa


def integers(values: Iterable[int]) -> pa.Array:
    """Of 32 bits."""
    flat = np.fromiter(values, np.int32)
    return pa.Array.from_buffers(pa.int32(), len(flat), [None, pa.py_buffer(flat)])


def optional_integers(values: Sequence[int | None]) -> pa.Array:
    """32 bits, null where None."""
    flat = np.array([value or 0 for value in values], np.int32)
    return pa.Array.from_buffers(pa.int32(), len(flat), [_known(values), pa.py_buffer(flat)])


def texts(values: Sequence[str]) -> pa.Array:
    """As UTF-8."""
    return _texts(values, None)


def optional_texts(values: Sequence[str | None]) -> pa.Array:
    """As UTF-8, null where None."""
    return _texts([value or "" for value in values], _known(values))


def lists(values: Sequence[Sequence[str]]) -> pa.Array:
    """Lists of texts."""
    return listed(map(len, values), texts(list(chain.from_iterable(values))))


def integer_lists(values: Sequence[Sequence[int]]) -> pa.Array:
    """Lists of integers of 32 bits."""
    return listed(map(len, values), integers(chain.from_iterable(values)))


def listed(counts: Iterable[int], values: pa.Array) -> pa.Array:
    """Lists of so many of the values each."""
    return pa.ListArray.from_arrays(_offsets(counts), values)


def _texts(values: Sequence[str], known: pa.Buffer | None) -> pa.Array:
    data = list(map(str.encode, values))
    offsets = _offsets(map(len, data)).buffers()[1]
    return pa.Array.from_buffers(pa.string(), len(data), [known, offsets, pa.py_buffer(b"".join(data))])


def _offsets(counts: Iterable[int]) -> pa.Array:
    ends = np.cumsum(np.fromiter(counts, np.int64))
    if len(ends) and ends[-1] >= 2**31:
        raise OverflowError("more than 2 GiB of text in one table")
    flat = np.concatenate([np.zeros(1, np.int32), ends.astype(np.int32)])
    return pa.Array.from_buffers(pa.int32(), len(flat), [None, pa.py_buffer(flat)])


def _known(values: Sequence[object]) -> pa.Buffer | None:
    known = np.array([value is not None for value in values], bool)
    return None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
