"""A named, versioned parquet table: checked on reading, written atomically, same rows same bytes."""

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing
from vouch.pipeline.streaming_digest import followed

Row = Mapping[str, Any]
T = TypeVar("T")
QUICK = -1  # a level of zstd
_LONGEST = 2**31 - 1  # bytes of the values of one array of arrow's type `binary`
# What pyarrow raises on damage; ValueError: a name in the footer that is not UTF-8 any more.
_DAMAGE = (OSError, ValueError, pa.ArrowException)


def _encodings(schema: pa.Schema, measured: bool) -> dict[str, Any]:
    """What the parquet writer is told: measured floats are stored byte by byte, pictures are packed quickly.

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


@dataclass(frozen=True)
class Table:
    """The contract of one table.

    name, version: stored in the file and checked on reading; raise the version when a column
        changes its meaning.
    schema: columns and types. `alternatives` maps a column to other types it may have.
    rows_per_group: rows of one parquet row group, the unit of streaming.
    measured: floats are measurements that hardly repeat: stored byte by byte instead of by dictionary, which
        makes tables of logits a quarter smaller.
    large: files of gigabytes: hashed and brought to the disk while they are written.
    """

    name: str
    version: int
    schema: pa.Schema
    rows_per_group: int = 4096
    alternatives: Mapping[str, tuple[pa.DataType, ...]] | None = None
    measured: bool = False
    large: bool = False

    @property
    def _mark(self) -> dict[bytes, bytes]:
        return {b"vouch": f"{self.name}/{self.version}".encode()}

    @contextmanager
    def writer(self, path: Path, schema: pa.Schema | None = None) -> Iterator["Writer"]:
        """A streaming writer of rows; the file appears only when the block succeeds."""
        marked = (schema or self.schema).with_metadata(self._mark)
        with (
            replacing(path) as temporary,
            followed(temporary, path) if self.large else nullcontext(),
            pq.ParquetWriter(
                temporary,
                marked,
                compression="zstd",
                write_page_checksum=True,
                store_schema=False,
                **_encodings(marked, self.measured),
            ) as sink,
        ):
            # Without store_schema the metadata of the schema stays out of the file.
            sink.add_key_value_metadata(self._mark)
            writer = Writer(sink, marked, self.rows_per_group)
            yield writer
            writer.flush()

    def write(self, path: Path, rows: Iterable[Row] | pa.Table) -> None:
        """Writes all rows (mappings, or an arrow table with exactly these columns)."""
        if isinstance(rows, pa.Table):
            self._check(rows.schema, path)
            with self.writer(path, rows.schema) as writer:
                writer.table(rows)
        else:
            with self.writer(path) as writer:
                for row in rows:
                    writer.row(row)

    def open(self, path: Path) -> "Opened":
        """The file, checked to be this table, for streaming. Raises UserError, also while it is read."""
        try:
            file = Opened(path)
            schema = file.schema_arrow
        except FileNotFoundError:
            raise UserError(f"{path}: no such file; run `dvc repro`, or `dvc pull` to fetch it") from None
        except _DAMAGE as error:
            raise UserError(
                f"{path}: not readable as parquet ({error}); delete it and run `dvc repro`"
            ) from None
        found = (schema.metadata or {}).get(b"vouch", b"no mark").decode(errors="replace")
        if found != f"{self.name}/{self.version}":
            raise UserError(f"{path}: holds {found}, expected {self.name}/{self.version}; run `dvc repro`")
        self._check(schema, path)
        return file

    def read(self, path: Path, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows, or some columns of them. Raises UserError."""
        return self.open(path).read(columns=list(columns) if columns else None, use_threads=False)

    def _check(self, schema: pa.Schema, path: Path) -> None:
        for field in self.schema:
            allowed = (field.type, *((self.alternatives or {}).get(field.name, ())))
            index = schema.get_field_index(field.name)
            if index < 0 or not any(_same(schema.field(index).type, kind) for kind in allowed):
                found = "no such column" if index < 0 else str(schema.field(index).type)
                raise UserError(
                    f"{path}: column {field.name} of {self.name} is {found}, expected {field.type}; "
                    "run `dvc repro` to write it anew"
                )


class Opened(pq.ParquetFile):  # type: ignore[misc]
    """A parquet file whose damage is a UserError that names it, wherever in it the reader has come to."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, page_checksum_verification=True)
        self._path = path

    def read(self, *arguments: Any, **options: Any) -> pa.Table:
        """As pyarrow's. Raises UserError."""
        return self._whole(lambda: super(Opened, self).read(*arguments, **options))

    def read_row_group(self, *arguments: Any, **options: Any) -> pa.Table:
        """As pyarrow's. Raises UserError."""
        return self._whole(lambda: super(Opened, self).read_row_group(*arguments, **options))

    def iter_batches(self, *arguments: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        """As pyarrow's. Raises UserError."""
        batches = self._whole(lambda: super(Opened, self).iter_batches(*arguments, **options))
        while (batch := self._whole(lambda: next(batches, None))) is not None:
            yield batch

    def _whole(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except _DAMAGE as error:
            raise UserError(
                f"{self._path}: damaged ({error}); delete it and run `dvc repro`, or `dvc pull` it"
            ) from None


def _same(found: pa.DataType, expected: pa.DataType) -> bool:
    """Equal but for the names parquet gives to list elements."""
    if pa.types.is_list(found) and pa.types.is_list(expected):
        return _same(found.value_type, expected.value_type)
    if pa.types.is_struct(found) and pa.types.is_struct(expected):
        return found.num_fields == expected.num_fields and all(
            found.field(i).name == expected.field(i).name
            and _same(found.field(i).type, expected.field(i).type)
            for i in range(found.num_fields)
        )
    return bool(found == expected)


class Writer:
    """Buffers rows into row groups of a fixed size, so that memory stays flat."""

    def __init__(self, sink: pq.ParquetWriter, schema: pa.Schema, rows_per_group: int) -> None:
        self._sink, self._schema, self._size = sink, schema, rows_per_group
        self._names = frozenset(schema.names)
        self._rows: list[Row] = []
        self.count = 0

    def row(self, row: Row) -> None:
        """Adds one row; a missing key is null, an unknown key is an error."""
        if not row.keys() <= self._names:
            raise KeyError(f"not columns of this table: {sorted(row.keys() - self._names)}")
        self._rows.append(row)
        self.count += 1
        if len(self._rows) >= self._size:
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
            self._sink.write_table(_table(self._rows, self._schema))
            self._rows = []


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
