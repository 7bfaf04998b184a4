"""How rows become a parquet file: buffered into row groups, packed by what the columns hold; and bytes."""

import sys
from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = Mapping[str, Any]
QUICK = -1  # a level of zstd
MOST_BYTES = 1 << 27  # of the column `bytes` in a row group, whose pictures are read together
_LONGEST = 2**31 - 1  # bytes of the values of one array of arrow's type `binary`


class _NoPandas:
    """Keeps pyarrow from importing pandas (0.35 s) to ask whether a list of rows is one of its arrays.

    pyarrow asks once; `to_pandas` imports it all the same.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Refuses pandas alone."""
        if name == "pandas":
            raise ImportError(name)


if "pandas" not in sys.modules:
    sys.meta_path.insert(0, _NoPandas)
    pa.array([0])
    sys.meta_path.remove(_NoPandas)


def encodings(schema: pa.Schema, measured: bool) -> dict[str, Any]:
    """Options of the parquet writer: measured floats are stored byte by byte, pictures are packed quickly.

    Their dictionary would be given up after a megabyte. Most of them are packed already; bitmaps become at
    most a tenth larger than at zstd's usual level where that helps them at all.
    """
    kinds = {
        f"{field.name}.list.element" if pa.types.is_list(field.type) else field.name: field.type
        for field in schema
    }
    inner = {leaf: kind.value_type if pa.types.is_list(kind) else kind for leaf, kind in kinds.items()}
    floats = [leaf for leaf, kind in inner.items() if measured and pa.types.is_floating(kind)]
    blobs = [leaf for leaf, kind in inner.items() if pa.types.is_binary(kind)]
    if not floats and not blobs:
        return {}
    return {
        "use_byte_stream_split": floats,
        "use_dictionary": [leaf for leaf in inner if leaf not in (*floats, *blobs)],
        "compression_level": dict.fromkeys(blobs, QUICK),
    }


class Writer:
    """Buffers rows into row groups of a fixed size, or MOST_BYTES of pictures, so that memory stays flat."""

    def __init__(self, sink: pq.ParquetWriter, schema: pa.Schema, rows_per_group: int) -> None:
        self._sink, self._schema, self._size = sink, schema, rows_per_group
        self._rows: list[Row] = []
        self._bytes = 0
        self.count = 0

    def row(self, row: Row) -> None:
        """Adds one row; a missing key is null, an unknown key is an error when it is written."""
        self._rows.append(row)
        self.count += 1
        picture = row.get("bytes")  # elsewhere a number
        self._bytes += len(picture) if isinstance(picture, bytes) else 0
        if len(self._rows) >= self._size or self._bytes >= MOST_BYTES:
            self.flush()

    def table(self, table: pa.Table) -> None:
        """Adds the rows of an arrow table."""
        self.flush()
        ordered = table.select(self._schema.names).cast(self._schema)
        self._sink.write_table(ordered, row_group_size=self._size)
        self.count += table.num_rows

    def flush(self) -> None:
        """Writes what is buffered as one row group."""
        if self._rows:
            unknown = set().union(*self._rows).difference(self._schema.names)
            if unknown:
                raise KeyError(f"not columns of this table: {sorted(unknown)}")
            self._sink.write_table(_table(self._rows, self._schema))
            self._rows, self._bytes = [], 0


def _table(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """As `pa.Table.from_pylist`, which takes 20 times as long over pictures: it copies them as it appends."""
    blobs: dict[str, pa.Array] = {}
    for field in schema:
        if pa.types.is_binary(field.type):
            joined = _joined([row.get(field.name) for row in rows])
            blobs |= {} if joined is None else {field.name: joined}
    others = pa.Table.from_pylist(rows, pa.schema([field for field in schema if field.name not in blobs]))
    columns = [blobs[name] if name in blobs else others[name] for name in schema.names]
    return pa.Table.from_arrays(columns, schema=schema)


def _joined(values: Sequence[bytes | None]) -> pa.Array | None:
    """None where one is missing, or where they are too long for one array."""
    present = [value for value in values if value is not None]
    ends = list(accumulate(map(len, present), initial=0))
    if len(present) < len(values) or ends[-1] > _LONGEST:
        return None
    offsets, data = pa.py_buffer(array("i", ends)), pa.py_buffer(b"".join(present))
    return pa.Array.from_buffers(pa.binary(), len(values), [None, offsets, data])


def packed(tables: Sequence[pa.Table]) -> bytes:
    """Tables as bytes, for a cache."""
    sink, options = pa.BufferOutputStream(), pa.ipc.IpcWriteOptions(compression="zstd")
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
            stream.write_table(table)
    return bytes(sink.getvalue())


def unpacked(data: bytes) -> list[pa.Table]:
    """The tables that `packed` was given."""
    source, tables = pa.BufferReader(data), []
    while source.tell() < len(data):
        tables.append(pa.ipc.open_stream(source).read_all())
    return tables
