"""A named, versioned parquet table: checked on reading, written atomically, same rows same bytes.

`columns` parses a declaration, `Table` reads and writes files, `Writer` buffers rows into row groups.
"""

import re
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vouch.pipeline.errors import UserError
from vouch.pipeline.files import followed, replacing

Row = Mapping[str, Any]
QUICK = -1  # a level of zstd
MOST_BYTES = 1 << 27  # of the column `bytes` in a row group, whose images are read together
_LONGEST = 2**31 - 1  # bytes of the values of one array of arrow's type `binary`


class _NoPandas:
    """Keeps pyarrow from importing pandas (0.35 s) to ask whether a list of rows is one of its arrays.

    pyarrow asks once; `to_pandas` imports it all the same.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Refuses only pandas."""
        if name == "pandas":
            raise ImportError(name)


if "pandas" not in sys.modules:
    sys.meta_path.insert(0, _NoPandas)
    pa.array([0])
    sys.meta_path.remove(_NoPandas)


def encodings(schema: pa.Schema, measured: bool) -> dict[str, Any]:
    """Options of the parquet writer: measured floats are stored byte by byte, images are packed quickly.

    Images get no dictionary: it would be given up after a megabyte. Most are packed already; bitmaps become
    at most a tenth larger than at zstd's usual level, if that helps them at all.
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


class TableWriter:
    """Buffers rows into row groups of a fixed size, or MOST_BYTES of images, so that memory stays flat."""

    def __init__(self, sink: pq.ParquetWriter, schema: pa.Schema, rows_per_group: int) -> None:
        self._sink, self._schema, self._size = sink, schema, rows_per_group
        self._rows: list[Row] = []
        self._bytes = 0
        self.count = 0

    def row(self, row: Row) -> None:
        """Adds one row; a missing key is null, an unknown key is an error when it is written."""
        self._rows.append(row)
        self.count += 1
        image = row.get("bytes")  # in some tables a number
        self._bytes += len(image) if isinstance(image, bytes) else 0
        if len(self._rows) >= self._size or self._bytes >= MOST_BYTES:
            self.flush()

    def table(self, table: pa.Table) -> None:
        """Adds the rows of an arrow table."""
        self.flush()
        ordered = table.select(self._schema.names).cast(self._schema)
        self._sink.write_table(ordered, row_group_size=self._size)
        self.count += table.num_rows

    def flush(self) -> None:
        """Writes the buffered rows as one row group."""
        if self._rows:
            unknown = set().union(*self._rows).difference(self._schema.names)
            if unknown:
                raise KeyError(f"not columns of this table: {sorted(unknown)}")
            self._sink.write_table(_table(self._rows, self._schema))
            self._rows, self._bytes = [], 0


def _table(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """Like `pa.Table.from_pylist`, which is 20 times as slow with images: it copies them as it appends."""
    blobs: dict[str, pa.Array] = {}
    for field in schema:
        if pa.types.is_binary(field.type):
            joined = _joined([row.get(field.name) for row in rows])
            blobs |= {} if joined is None else {field.name: joined}
    others = pa.Table.from_pylist(rows, pa.schema([field for field in schema if field.name not in blobs]))
    columns = [blobs[name] if name in blobs else others[name] for name in schema.names]
    return pa.Table.from_arrays(columns, schema=schema)


def _joined(values: Sequence[bytes | None]) -> pa.Array | None:
    """The values as one array; None if one is missing, or if they are too long for it."""
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


T = TypeVar("T")
# Errors of pyarrow on damage; ValueError: a name in the footer that is not UTF-8 any more.
_DAMAGE = (OSError, ValueError, pa.ArrowException)


_COLUMN = re.compile(r"(\w+(?:, \w+)*) +(\w+)((?:\[\])*)(?: .*)?")


def columns(text: str, **structs: pa.DataType) -> pa.Schema:
    """The schema that a text declares, with `NAME, NAME TYPE MEANING` on a line; indented lines go on.

    TYPE: arrow's name (`float32`) or one of `structs`; followed by `[]`, a list of these. Raises ValueError.
    """
    fields = []
    for line in text.splitlines():
        if line and not line.startswith(" "):
            if (match := _COLUMN.fullmatch(line)) is None:
                raise ValueError(f"{line!r}: no column; write NAME TYPE MEANING")
            kind = structs.get(match[2]) or pa.type_for_alias(match[2])
            for _ in range(match[3].count("[")):
                kind = pa.list_(kind)
            fields += [(name, kind) for name in match[1].split(", ")]
    return pa.schema(fields)


def per_dataset(pattern: str) -> Callable[[str], Path]:
    """The path of a file by the name of its dataset, which replaces `{}`."""
    return lambda dataset: Path(pattern.format(dataset))


@dataclass(frozen=True)
class Table:
    """The contract of one table.

    name, version: stored in the file and checked on reading; raise the version when a column
        changes its meaning.
    schema: columns and types. `alternatives` maps a column to other types it may have.
    rows_per_group: rows of one parquet row group, the unit of streaming.
    measured: floats are measurements that hardly repeat: stored byte by byte instead of by dictionary, which
        makes tables of logits a quarter smaller.
    large: files may have gigabytes, so they are hashed and brought to the disk while they are written.
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
    def writer(self, path: Path, schema: pa.Schema | None = None) -> Iterator[TableWriter]:
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
                **encodings(marked, self.measured),
            ) as sink,
        ):
            # Without store_schema the metadata of the schema stays out of the file.
            sink.add_key_value_metadata(self._mark)
            writer = TableWriter(sink, marked, self.rows_per_group)
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
        mark = (schema.metadata or {}).get(b"vouch", b"no mark").decode(errors="replace")
        if mark != f"{self.name}/{self.version}":
            raise UserError(f"{path}: holds {mark}, expected {self.name}/{self.version}; run `dvc repro`")
        self._check(schema, path)
        return file

    def read(self, path: Path, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows, or some columns of them. Raises UserError."""
        return self.open(path).read(columns=list(columns) if columns else None, use_threads=False)

    def rows_with(
        self, path: Path, column: str, wanted: Sequence[str], columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """Rows whose column of strings has one of the values, part by part, in the order of the file.

        Parts of the file that cannot hold any are not read. columns: those to read, all by default. Raises
        UserError.
        """
        values, file = pa.array(wanted, pa.string()), self.open(path)
        for group, known in enumerate(file.statistics(column)):
            if known and known.has_min_max and not any(known.min <= one <= known.max for one in wanted):
                continue
            values_here = file.read_row_group(group, columns=[column], use_threads=False)[column]
            mask = pc.is_in(values_here, value_set=values)
            if pc.any(mask).as_py():
                chosen = list(columns) if columns else None
                yield file.read_row_group(group, columns=chosen, use_threads=False).filter(mask)

    def _check(self, schema: pa.Schema, path: Path) -> None:
        for field in self.schema:
            allowed = (field.type, *((self.alternatives or {}).get(field.name, ())))
            index = schema.get_field_index(field.name)
            if index < 0 or not any(_same(schema.field(index).type, kind) for kind in allowed):
                actual = "no such column" if index < 0 else str(schema.field(index).type)
                raise UserError(
                    f"{path}: column {field.name} of {self.name} is {actual}, expected {field.type}; "
                    "run `dvc repro` to write it anew"
                )


class Opened(pq.ParquetFile):  # type: ignore[misc]
    """A parquet file; damage anywhere in it raises a UserError that names it."""

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

    def statistics(self, column: str) -> list[Any]:
        """Those that the file has of a column, or of the values of a column of lists, by row group."""
        paths = (self.schema.column(index).path for index in range(len(self.schema)))
        leaf = next(index for index, path in enumerate(paths) if path.partition(".")[0] == column)
        groups = (self.metadata.row_group(group) for group in range(self.num_row_groups))
        return [group.column(leaf).statistics for group in groups]

    def _whole(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except _DAMAGE as error:
            raise UserError(
                f"{self._path}: damaged ({error}); delete it and run `dvc repro`, or `dvc pull` it"
            ) from None


def _same(found: pa.DataType, expected: pa.DataType) -> bool:
    """Whether two types are equal except for the names that parquet gives to list elements."""
    if pa.types.is_list(found) and pa.types.is_list(expected):
        return _same(found.value_type, expected.value_type)
    if pa.types.is_struct(found) and pa.types.is_struct(expected):
        return found.num_fields == expected.num_fields and all(
            found.field(i).name == expected.field(i).name
            and _same(found.field(i).type, expected.field(i).type)
            for i in range(found.num_fields)
        )
    return bool(found == expected)
