"""Items between the first and the second pass: their texts, in arrow's compact form."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from vouch.tables.items import ITEMS

NATIVE = "native"
Each = Callable[[Mapping[str, Any], Sequence[str | None]], None]


class ItemBuffer:
    """Rows of the items table, and beside them the options as the source has them, None where missing.

    each: is shown every row and these options when they are added.
    """

    def __init__(self, each: Each | None = None) -> None:
        self._schema = ITEMS.schema.append(pa.field(NATIVE, pa.list_(pa.string())))
        self._each = each
        self._chunks: list[pa.Table] = []
        self._rows: list[Mapping[str, Any]] = []
        self.count = 0

    def add(self, row: Mapping[str, Any], native: Sequence[str | None]) -> None:
        """Keeps one row."""
        if self._each:
            self._each(row, native)
        self._rows.append({**row, NATIVE: native})
        self.count += 1
        if len(self._rows) >= ITEMS.rows_per_group:
            self._pack()

    def _pack(self) -> None:
        if self._rows:
            self._chunks.append(pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """The rows in order, or some columns of them."""
        self._pack()
        for chunk in self._chunks:
            yield from (chunk.select(columns) if columns else chunk).to_pylist()

    def tables(self) -> Iterator[pa.Table]:
        """The rows in order, as many at a time as the items table has in a row group."""
        self._pack()
        for chunk in self._chunks:
            yield chunk.select(ITEMS.schema.names)
