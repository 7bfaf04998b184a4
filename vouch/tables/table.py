"""A named, versioned parquet table: checked on reading, written atomically, same rows same bytes."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing
from vouch.pipeline.streaming_digest import followed
from vouch.tables.writing import Row, Writer, encodings

T = TypeVar("T")
# What pyarrow raises on damage; ValueError: a name in the footer that is not UTF-8 any more.
_DAMAGE = (OSError, ValueError, pa.ArrowException)


_COLUMN = re.compile(r"(\w+(?:, \w+)*) +(\w+)((?:\[\])*)(?: .*)?")


def columns(text: str, **structs: pa.DataType) -> pa.Schema:
    """The schema that a text declares and explains, `NAME, NAME TYPE MEANING` on a line; indented ones go on.

    TYPE: arrow's name (`float32`) or one of `structs`; with `[]` behind it lists of that. Raises ValueError.
    """
    fields = []
    for line in text.splitlines():
        if line and not line.startswith(" "):
            if (found := _COLUMN.fullmatch(line)) is None:
                raise ValueError(f"{line!r}: no column; write NAME TYPE MEANING")
            kind = structs.get(found[2]) or pa.type_for_alias(found[2])
            for _ in range(found[3].count("[")):
                kind = pa.list_(kind)
            fields += [(name, kind) for name in found[1].split(", ")]
    return pa.schema(fields)


def per_dataset(pattern: str) -> Callable[[str], Path]:
    """Where a file lies by the name of its dataset, which takes the place of `{}`."""
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
    def writer(self, path: Path, schema: pa.Schema | None = None) -> Iterator[Writer]:
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

    def rows_with(
        self, path: Path, column: str, wanted: Sequence[str], columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """Rows whose column of strings has one of the values, part by part, in the order of the file.

        Parts of the file that cannot hold any are not read. columns: those to read, all by default. Raises
        UserError.
        """
        values, file = pa.array(wanted, pa.string()), self.open(path)
        leaf = [file.schema.column(place).path for place in range(len(file.schema))].index(column)
        for group in range(file.num_row_groups):
            known = file.metadata.row_group(group).column(leaf).statistics
            if known and known.has_min_max and not any(known.min <= one <= known.max for one in wanted):
                continue
            found = file.read_row_group(group, columns=[column], use_threads=False)[column]
            mask = pc.is_in(found, value_set=values)
            if pc.any(mask).as_py():
                chosen = list(columns) if columns else None
                yield file.read_row_group(group, columns=chosen, use_threads=False).filter(mask)

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
