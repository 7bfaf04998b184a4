"""Tables of a dataset, row by row: parquet and TSV.

Memory stays flat: a few rows and parquet pages at a time (the hub's images: a row group, about 100 rows).
In some TSV files rows share images: a cell holds the index of the row that has the image, not the image.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vouch.datasets.raw import LoaderSettings, Unusable
from vouch.datasets.read.files import File, Source, lines
from vouch.datasets.read.row import Row
from vouch.pipeline.errors import UserError

PARQUET, TSV = ".parquet", ".tsv"
_BATCH = 16  # rows held at a time; rows of documents hold megabytes
_BUFFER = 1 << 20  # bytes read at a time: else a whole column of a row group is
_LONGEST_INDEX = 12  # characters; an image in base64 has more
_MAX_CELL = 1 << 27  # characters of a TSV cell or line, an image in base64 included


def rows(source: Source, needed: Sequence[str], optional: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of all tables in order, numbered through from 0.

    needed: columns that must be there. optional: read where they are there. Raises UserError.
    """
    number = 0
    for file in source.ending(PARQUET, TSV):
        table = _parquet if _is_parquet(file) else _tsv
        for values, where in table(file, needed, optional):
            yield Row(values, where, number, file)
            number += 1


def count_rows(source: Source) -> int:
    """Rows of all tables."""
    return sum(
        _opened(file).metadata.num_rows if _is_parquet(file) else sum(1 for _ in _tsv(file, (), ()))
        for file in source.ending(PARQUET, TSV)
    )


def count_each(source: Source, name: str, settings: LoaderSettings) -> int:
    """`count` of a loader with an item for each row at most, before its filters."""
    return count_rows(source)


def columns(source: Source) -> set[str]:
    """Names of the columns of the first table."""
    file = source.ending(PARQUET, TSV)[0]
    if _is_parquet(file):
        return set(_opened(file).schema_arrow.names)
    with _text(file.checked()) as text:
        return set(_reader(text, file).fieldnames or ())


def shared_images(source: Source, needed: Sequence[str]) -> dict[str, bytes]:
    """Index -> image of the rows that others refer to; empty where every row has its own.

    needed: the columns that the loader needs, `index` and `image` among them.
    """
    if any(map(_is_parquet, source.ending(TSV, PARQUET))):
        return {}
    cells = (row.text("image").strip() for row in rows(source, needed))
    wanted = {cell for cell in cells if len(cell) <= _LONGEST_INDEX}
    found = {}
    for row in rows(source, needed) if wanted else ():
        if row.text("index") in wanted and len(row.text("image").strip()) > _LONGEST_INDEX:
            with suppress(Unusable):  # that row itself says why
                found[row.text("index")] = row.images("image")[0]
    return found


def images_of(row: Row, shared: Mapping[str, bytes]) -> list[bytes]:
    """The row's images, its own or shared ones. Raises Unusable."""
    value = row.values.get("image")
    if isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST_INDEX:
        if value.strip() not in shared:
            raise Unusable(f"its image is that of row {value.strip()!r}, which has none")
        return [shared[value.strip()]]
    return row.images("image")


def _is_parquet(file: File) -> bool:
    return file.name.lower().endswith(PARQUET)


def _opened(file: File) -> pq.ParquetFile:
    try:
        opened = pq.ParquetFile(file.checked(), pre_buffer=False, buffer_size=_BUFFER)
        _ = opened.schema_arrow.names
        return opened
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: a name that is not UTF-8
        raise UserError(f"{file.path}: not readable as parquet ({error!s:.160}); fetch it again") from None


def _parquet(file: File, needed: Sequence[str], optional: Sequence[str]) -> Iterator[tuple[Any, str]]:
    opened = _opened(file)
    there = opened.schema_arrow.names
    check_columns(file, needed, optional, there)
    wanted = _wanted(needed, optional, there)
    number = 0
    try:
        for batch in opened.iter_batches(batch_size=_BATCH, columns=wanted, use_threads=False):
            for values in batch.to_pylist():
                number += 1
                yield values, f"{file.path} row {number}"
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:  # also text that is not UTF-8
        raise UserError(f"{file.path}: damaged after row {number} ({error!s:.160}); fetch it again") from None


def _tsv(file: File, needed: Sequence[str], optional: Sequence[str]) -> Iterator[tuple[Any, str]]:
    number = 0
    try:
        with _text(file.checked()) as text:
            reader = _reader(text, file)
            there = reader.fieldnames or ()
            check_columns(file, needed, optional, there)
            wanted = _wanted(needed, optional, there)
            for values in reader:
                number += 1
                if None in values or None in values.values():
                    raise UserError(
                        f"{file.path} row {number}: has not one cell for each column; fetch the file again"
                    )
                yield {name: values[name] for name in wanted}, f"{file.path} row {number}"
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{file.path}: damaged after row {number} ({error!s:.160}); fetch it again") from None


def _wanted(needed: Sequence[str], optional: Sequence[str], there: Sequence[str]) -> list[str]:
    return [column for column in (*needed, *optional) if column in there]


def _text(path: Path) -> io.TextIOWrapper:
    return path.open(encoding="utf-8-sig", newline="")


def _reader(text: io.TextIOWrapper, file: File) -> "csv.DictReader[str]":
    csv.field_size_limit(_MAX_CELL)
    try:
        reader = csv.DictReader(lines(text, file.path, _MAX_CELL), dialect="excel-tab", strict=True)
        _ = reader.fieldnames
        return reader
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(
            f"{file.path}: not readable as TSV in UTF-8 ({error!s:.160}); fetch it again"
        ) from None


def check_columns(file: File, needed: Sequence[str], optional: Sequence[str], there: Sequence[str]) -> None:
    """Raises UserError where a needed column is missing, or a column is there twice."""
    missing = [column for column in needed if column not in there]
    if missing:
        raise UserError(
            f"{file.path}: no column {', '.join(missing)}; it has {', '.join(there)[:200] or 'none'}; is it "
            "the right file for this loader?"
        )
    twice = next((column for column in (*needed, *optional) if there.count(column) > 1), None)
    if twice is not None:  # the last one would count
        raise UserError(f"{file.path}: two columns {twice!r:.80}; keep one of them")
