"""Items between the first and the second pass: their texts, in arrow's compact form."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from stages.contracts.items import ITEMS

NATIVE = "native"
_CHUNK = 4096


class Kept:
    """Rows of the items table, and beside them the options as the source has them, None where missing."""

    def __init__(self) -> None:
        self._schema = ITEMS.schema.append(pa.field(NATIVE, pa.list_(pa.string())))
        self._chunks: list[pa.Table] = []
        self._rows: list[Mapping[str, Any]] = []
        self.count = 0

    def add(self, row: Mapping[str, Any], native: Sequence[str | None]) -> None:
        """Keeps one row."""
        self._rows.append({**row, NATIVE: list(native)})
        self.count += 1
        if len(self._rows) >= _CHUNK:
            self._pack()

    def _pack(self) -> None:
        self._chunks.append(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows = []

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """The rows in order, or some columns of them."""
        self._pack()
        for chunk in self._chunks:
            yield from (chunk.select(columns) if columns else chunk).to_pylist()
