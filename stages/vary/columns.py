"""Rows of the prompts table become arrow columns, what several rows share only once.

A row is made of parts, each with some of its columns (rows.py). Most prompts of an item share most of their
parts, and share them as the same object: it becomes arrow once, and the rows point to it.
"""

from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from stages.contracts.prompts import PROMPTS

Row = ChainMap[str, Any]
"""Columns of a row; rows of one table have as many parts as each other, each with the same columns."""


def tables(rows: Iterable[Row]) -> Iterator[pa.Table]:
    """The rows in tables of one row group each."""
    left = iter(rows)
    while group := list(islice(left, PROMPTS.rows_per_group)):
        yield table(group)


def table(rows: Sequence[Row]) -> pa.Table:
    """The rows, at least one, as a table."""
    columns: dict[str, pa.Array] = {}
    for parts in zip(*[row.maps for row in rows], strict=True):
        names = np.fromiter(map(id, parts), np.uint64, len(parts))
        _, first, places = np.unique(names, return_index=True, return_inverse=True)
        distinct = [parts[place] for place in first]
        for name in parts[0]:
            values = pa.array([part[name] for part in distinct], PROMPTS.schema.field(name).type)
            columns[name] = values.take(pa.array(places))
    return pa.table([columns[name] for name in PROMPTS.schema.names], schema=PROMPTS.schema)
