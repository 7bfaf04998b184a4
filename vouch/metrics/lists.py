"""List columns of tables as flat arrays."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.responses import Bools, Ints


def lengths(lists: pa.ChunkedArray) -> Ints:
    """[n] how many elements each list has; 0 for null."""
    return np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)


def cells(lists: pa.ChunkedArray) -> tuple[Ints, Ints, np.ndarray]:
    """Row, column and value of every element of a list column; null elements become NaN."""
    sizes = lengths(lists)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    columns = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rows, columns, pc.list_flatten(lists).to_numpy()


def has_any(lists: pa.ChunkedArray, wanted: Sequence[str]) -> Bools:
    """[n] whether a row's list of names holds one of those wanted."""
    rows, _, names = cells(lists)
    return np.asarray(np.bincount(rows, np.isin(names.astype(str), wanted), len(lists)) > 0)
