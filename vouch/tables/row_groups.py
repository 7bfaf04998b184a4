"""Rows of a table by the value of one column, without reading the parts of the file that cannot hold any."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vouch.tables.table import Table


def rows_with(
    table: Table, path: Path, column: str, wanted: Sequence[str], columns: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """Rows whose column of strings has one of the values, part by part, in the order of the file.

    columns: those to read, all by default. Raises UserError where the file is not this table, or damaged.
    """
    values, file = pa.array(wanted, pa.string()), table.open(path)
    leaf = [file.schema.column(place).path for place in range(len(file.schema))].index(column)
    for group in range(file.num_row_groups):
        if not _may_hold(file, group, leaf, wanted):
            continue
        found = file.read_row_group(group, columns=[column], use_threads=False)[column]
        mask = pc.is_in(found, value_set=values)
        if pc.any(mask).as_py():
            chosen = list(columns) if columns else None
            yield file.read_row_group(group, columns=chosen, use_threads=False).filter(mask)


def _may_hold(file: pq.ParquetFile, group: int, leaf: int, wanted: Sequence[str]) -> bool:
    known = file.metadata.row_group(group).column(leaf).statistics
    return known is None or not known.has_min_max or any(known.min <= one <= known.max for one in wanted)
