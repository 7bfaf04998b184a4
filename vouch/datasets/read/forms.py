"""Tables of a dataset, row by row: parquet, TSV, CSV, JSON, JSON lines and Arrow, by the file's ending.

Memory stays flat: it holds a few rows and parquet pages (for the hub's image type a row group, about
100 rows).
"""

import csv
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vouch.datasets.raw import LoaderSettings, RawItem, Rejected, Unusable
from vouch.datasets.read import json_rows
from vouch.datasets.read.files import File, Row, SourceFiles, is_bomb, items, lines
from vouch.datasets.read.json_rows import listed_names
from vouch.pipeline.errors import UserError

PARQUET, TSV = ".parquet", ".tsv"
_DIALECTS = {TSV: "excel-tab", ".csv": "excel"}
_BATCH = 16  # rows held at a time; rows of documents hold megabytes
_BUFFER = 1 << 20  # bytes read at a time; without it, a whole column of a row group would be
_MAX_CELL = 1 << 27  # characters of a TSV cell or line, an image in base64 included; bytes of any other cell
_ROOM = 1 << 27  # bytes of the rows of parquet that are read at once, by their mean size
_SMALL_BATCH = 1 << 24  # bytes of rows that are converted to Python values at once
_PACKED = re.compile("dictionary|run_end|null|struct")  # types whose values may take more than their bytes
_POINTER = 8  # bytes

Rows = Iterator[tuple[dict[str, Any], str]]  # the cells of a row by column, and its file and number


def ending(file: File) -> str:
    """The form of a table."""
    return Path(file.name).suffix.lower()


def _read(file: File, needed: Sequence[str], optional: Sequence[str] = ()) -> Rows:
    """The rows of a table. Raises UserError, including for a needed column that is missing."""
    number = 0
    try:
        for values in _READERS[ending(file)](file, needed, optional):
            number += 1
            yield values, f"{file.path} row {number}"
    except (OSError, ValueError, OverflowError, struct.error, csv.Error, pa.ArrowException) as error:
        raise UserError(f"{file.path}: damaged after row {number} ({error!s:.160}); fetch it again") from None


def _parquet(file: File, needed: Sequence[str], optional: Sequence[str]) -> Iterator[dict[str, Any]]:
    opened = _opened(file)
    wanted = _wanted(file, needed, optional, opened.schema_arrow.names)
    heaviest = 1
    for number in range(opened.num_row_groups):
        group = opened.metadata.row_group(number)
        heaviest = max(heaviest, group.total_byte_size // max(1, group.num_rows))
        for column in map(group.column, range(group.num_columns)):
            if f"{column.path_in_schema}.".startswith(tuple(f"{name}." for name in wanted)):
                _check_packing(file, column.total_uncompressed_size, column.total_compressed_size)
    rows = min(_BATCH, max(1, _ROOM // heaviest))
    for batch in opened.iter_batches(batch_size=rows, columns=wanted, use_threads=False):
        yield from _values(batch, file)


def _check_packing(file: File, unpacked: int, packed: int) -> None:
    if is_bomb(unpacked, packed):
        became = f"{packed:,} bytes of it would become {unpacked:,}"
        raise UserError(f"{file.path}: {became}, which looks like a bomb; leave the file out")


def _values(batch: pa.RecordBatch, file: File) -> Iterator[dict[str, Any]]:
    """The rows of a batch, each converted only after its size is known."""
    parts = [batch]
    if batch.nbytes > _SMALL_BATCH or any(map(_PACKED.search, map(str, batch.schema.types))):
        parts = [batch.slice(row, 1) for row in range(batch.num_rows)]
    inexact = {field.name: field.type for field in batch.schema if "float" in str(field.type)}
    for part in parts:
        for name, column in zip(part.schema.names, part.columns, strict=True):
            size = _bytes(column)
            if size > _MAX_CELL:
                raise UserError(
                    f"{file.path}: a cell of column {name!r:.80} has {size:,} bytes, more than "
                    f"{_MAX_CELL:,}; correct the file, or fetch it again"
                )
        for values in part.to_pylist():
            yield values | {name: _shortest(values[name], kind) for name, kind in inexact.items()}


def _bytes(column: pa.Array) -> int:
    """Bytes of the values of a column; a value of a dictionary or a run counts as often as it occurs."""
    kind, count = column.type, len(column)
    if isinstance(column, pa.ExtensionArray):
        return _bytes(column.storage)
    if pa.types.is_dictionary(kind):
        values = column.dictionary
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            return pc.sum(pc.binary_length(values).take(column.indices)).as_py() or 0
        return count * (_bytes(values) // max(1, len(values)))
    if pa.types.is_struct(kind):
        return _POINTER * count + sum(map(_bytes, column.flatten()))
    if pa.types.is_run_end_encoded(kind):
        return count * _bytes(column.values)
    if pa.types.is_nested(kind) and hasattr(column, "flatten"):
        return _POINTER * count + _bytes(column.flatten())
    return _POINTER * count if pa.types.is_null(kind) else column.nbytes


def _shortest(value: Any, kind: pa.DataType) -> Any:
    """Numbers of 16 and 32 bits in their shortest form: .1 and not .10000000149011612."""
    if value is None:
        return None
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        return float(str((np.float16 if pa.types.is_float16(kind) else np.float32)(value)))
    if pa.types.is_struct(kind):
        return {field.name: _shortest(value[field.name], field.type) for field in kind}
    if isinstance(value, list) and hasattr(kind, "value_type"):
        return [_shortest(element, kind.value_type) for element in value]
    return value


def _opened(file: File) -> pq.ParquetFile:
    try:
        opened = pq.ParquetFile(file.checked(), pre_buffer=False, buffer_size=_BUFFER)
        _ = opened.schema_arrow.names
        return opened
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: a name that is not UTF-8
        raise UserError(f"{file.path}: not readable as parquet ({error!s:.160}); fetch it again") from None


def _arrow(file: File, needed: Sequence[str], optional: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A stream, as `datasets` writes it, or a file with an index of its batches."""
    with pa.memory_map(str(file.checked())) as data:
        indexed = data.read(6) == b"ARROW1"
        data.seek(8 if indexed else 0)
        for message in pa.ipc.MessageReader.open_stream(data):
            _check_packing(file, *_packing(message))
        data.seek(0)
        opened = pa.ipc.open_file(data) if indexed else pa.ipc.open_stream(data)
        wanted = _wanted(file, needed, optional, opened.schema.names)
        for batch in map(opened.get_batch, range(opened.num_record_batches)) if indexed else opened:
            batch.validate(full=True)
            for first in range(0, batch.num_rows, _BATCH):
                yield from _values(batch.select(wanted).slice(first, _BATCH), file)


def _packing(message: pa.Message) -> tuple[int, int]:
    """Bytes of the buffers of an Arrow message, unpacked and packed; equal if they are not compressed.

    The head of a message is a flatbuffer (format/Message.fbs of Arrow), which pyarrow does not expose.
    """
    head, body = message.metadata.to_pybytes(), message.body
    if message.type not in ("record batch", "dictionary") or body is None:
        return 0, 0
    table = _at(head, _field(head, _at(head, 0), 2))
    if message.type == "dictionary":
        table = _at(head, _field(head, table, 1))
    if not _field(head, table, 3):  # compression
        return body.size, body.size
    buffers, unpacked = _at(head, _field(head, table, 2)), 0
    (count,) = struct.unpack_from("<I", head, buffers)
    for position, length in struct.iter_unpack("<qq", head[buffers + 4 : buffers + 4 + 16 * count]):
        if length >= 8:
            (size,) = struct.unpack_from("<q", body, position)
            unpacked += length if size < 0 else size
    return unpacked, body.size


def _at(head: bytes, position: int) -> int:
    """The position to which the offset at `position` of a flatbuffer points."""
    return int(position + struct.unpack_from("<I", head, position)[0])


def _field(head: bytes, table: int, number: int) -> int:
    """The position of a field of a table in a flatbuffer, 0 if the table lacks it."""
    slots = table - struct.unpack_from("<i", head, table)[0]
    (size,) = struct.unpack_from("<H", head, slots)
    slot = 4 + 2 * number
    (offset,) = struct.unpack_from("<H", head, slots + slot) if slot < size else (0,)
    return table + offset if offset else 0


def _cells(file: File, needed: Sequence[str], optional: Sequence[str]) -> Iterator[dict[str, Any]]:
    with _csv(file) as reader:
        wanted = _wanted(file, needed, optional, reader.fieldnames or ())
        for number, values in enumerate(reader, start=1):
            if None in values or None in values.values():
                raise UserError(
                    f"{file.path} row {number}: does not have one cell for each column; fetch the file again"
                )
            yield {name: values[name] for name in wanted}


@contextmanager
def _csv(file: File) -> Iterator["csv.DictReader[str]"]:
    csv.field_size_limit(_MAX_CELL)
    form, path = ending(file), file.checked()
    with path.open(encoding="utf-8-sig", newline="") as text:
        try:
            reader = csv.DictReader(lines(text, path, _MAX_CELL), dialect=_DIALECTS[form], strict=True)
            _ = reader.fieldnames
        except (UnicodeDecodeError, csv.Error) as error:
            raise UserError(
                f"{path}: not readable as {form[1:].upper()} in UTF-8 ({error!s:.160}); fetch it again"
            ) from None
        yield reader


def _objects(file: File, needed: Sequence[str], optional: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A key that an object lacks is None; one that all lack is a missing column. A list has keys 0, 1, ..."""
    path, there = file.checked(), dict[str, None]()
    rows = _lines(path) if ending(file) == ".jsonl" else json_rows.rows(path)
    for number, value in enumerate(rows, start=1):
        values = {str(index): cell for index, cell in enumerate(value)} if isinstance(value, list) else value
        if not isinstance(values, dict):
            raise UserError(f"{path} row {number}: a {type(values).__name__}, not an object; correct it")
        there |= dict.fromkeys(name for name in (needed if there else values) if name in values)
        yield {name: values.get(name) for name in (*needed, *optional)}
    _wanted(file, needed, optional, list(there))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(lines(file, path), start=1):
            try:
                if line.strip():
                    yield json_rows.json_object(line)
            except Unusable as error:
                raise UserError(f"{path} line {number}: {error}") from None


def _wanted(file: File, needed: Sequence[str], optional: Sequence[str], there: Sequence[str]) -> list[str]:
    """The columns to read. Raises UserError for a missing or a duplicate column."""
    missing = [column for column in needed if column not in there]
    if missing:
        raise UserError(
            f"{file.path}: no column {listed_names(missing)}; it has {listed_names(there) or 'none'}; is it "
            "the right file for this loader?"
        )
    wanted = [column for column in (*needed, *optional) if column in there]
    duplicate = next((column for column in wanted if there.count(column) > 1), None)
    if duplicate is not None:  # only the last of them would be read
        raise UserError(f"{file.path}: two columns {duplicate!r:.80}; keep one of them")
    return wanted


_READERS: Mapping[str, Callable[[File, Sequence[str], Sequence[str]], Iterator[dict[str, Any]]]] = {
    PARQUET: _parquet,
    **dict.fromkeys(_DIALECTS, _cells),
    **dict.fromkeys((".jsonl", ".json"), _objects),
    ".arrow": _arrow,
}
ENDINGS = tuple(_READERS)


_TABLES = (PARQUET, TSV)
S = TypeVar("S", bound=LoaderSettings)
_LONGEST_INDEX = 12  # characters; an image in base64 has more


def rows(
    source: SourceFiles, needed: Sequence[str], optional: Sequence[str] = (), endings: Sequence[str] = _TABLES
) -> Iterator[Row]:
    """The rows of all tables in order, numbered from 0.

    needed: columns that must exist. optional: columns to read if they exist. Raises UserError.
    """
    number = 0
    for file in source.ending(*endings):
        for values, where in _read(file, needed, optional):
            yield Row(values, where, number, file)
            number += 1


def count_rows(source: SourceFiles, endings: Sequence[str] = _TABLES) -> int:
    """Number of rows of all tables."""
    return sum(
        int(_opened(file).metadata.num_rows) if ending(file) == PARQUET else sum(1 for _ in _read(file, ()))
        for file in source.ending(*endings)
    )


def count_each(source: SourceFiles, name: str, settings: LoaderSettings) -> int:
    """The `count` of a loader with at most one item per row, before its filters."""
    return count_rows(source)


def row_reader(
    needed: Sequence[str], make: Callable[[Row, S], RawItem | None], optional: Sequence[str] = ()
) -> Callable[[SourceFiles, str, S], Iterator[RawItem | Rejected]]:
    """The `read` of a loader that makes at most one item from each row."""

    def read(source: SourceFiles, name: str, settings: S) -> Iterator[RawItem | Rejected]:
        return items(rows(source, needed, optional), lambda row: make(row, settings))

    return read


def table_columns(source: SourceFiles) -> set[str]:
    """Names of the columns of the first table."""
    file = source.ending(*_TABLES)[0]
    if ending(file) == PARQUET:
        return set(_opened(file).schema_arrow.names)
    with _csv(file) as reader:
        return set(reader.fieldnames or ())


def shared_images(source: SourceFiles, needed: Sequence[str]) -> dict[str, bytes]:
    """Index -> image of the rows that others refer to: in some TSV files a cell has another row's index."""
    if source.has(PARQUET):
        return {}
    cells = (row.text("image").strip() for row in rows(source, needed))
    wanted = {cell for cell in cells if len(cell) <= _LONGEST_INDEX}
    images = {}
    for row in rows(source, needed) if wanted else ():
        if row.text("index") in wanted and len(row.text("image").strip()) > _LONGEST_INDEX:
            with suppress(Unusable):  # the row itself is then rejected
                images[row.text("index")] = row.images("image")[0]
    return images


def images_of(row: Row, shared: Mapping[str, bytes]) -> list[bytes]:
    """The images of a row, its own or a shared one. Raises Unusable."""
    value = row.values.get("image")
    if isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST_INDEX:
        if value.strip() not in shared:
            raise Unusable(f"its image is that of row {value.strip()!r}, which has none")
        return [shared[value.strip()]]
    return row.images("image")
