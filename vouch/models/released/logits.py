"""Logits that others released, from parquet or from the pickles of VLM-Uncertainty-Bench.

A parquet file has the columns id (integer or text) and logits (list of float32 or float64). A pickle holds a
list of dicts, each with an id and a numpy array; no code of it runs (restricted_pickle.py).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vouch.models.released.restricted_pickle import Array, Refused, unpickle
from vouch.pipeline.errors import UserError

MAX_ROWS = 2_000_000
MAX_LETTERS = 26
MAX_ID = 1000


@dataclass(frozen=True)
class Rows:
    """ids: as texts, distinct. logits: [row, letter], A first, finite, float32 or float64 as stored."""

    ids: tuple[str, ...]
    logits: npt.NDArray[Any]


def id_text(value: Any, where: str) -> str:
    """An id as text. Raises UserError where it is neither an integer nor a text of sensible length."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise UserError(
            f"{where}: id is a {type(value).__name__}, neither an integer nor a text; correct the file"
        )
    text = str(value)
    if not 0 < len(text) <= MAX_ID:
        raise UserError(f"{where}: id has {len(text)} characters, not 1 to {MAX_ID}; correct the file")
    return text


def checked(ids: Sequence[str], logits: npt.NDArray[Any], where: str) -> Rows:
    """Rows out of columns. Raises UserError naming file, row and id of the first problem."""
    if not ids:
        raise UserError(f"{where}: holds no rows; fetch it again")
    if logits.shape[1] > MAX_LETTERS:
        raise UserError(
            f"{where}: {logits.shape[1]} logits per row, more than the {MAX_LETTERS} letters; drop the others"
        )
    first: dict[str, int] = {}
    for number, name in enumerate(ids, start=1):
        if first.setdefault(name, number) != number:
            raise UserError(f"{where} row {number}: id {name} stands already in row {first[name]}; keep one")
    bad = np.argwhere(~np.isfinite(logits))
    if len(bad):
        row, letter = bad[0]
        raise UserError(
            f"{where} row {row + 1}: id {ids[row]}: logit {letter + 1} is {logits[row, letter]}; "
            "a row needs finite numbers, remove it here and among the items"
        )
    return Rows(tuple(ids), logits)


ADVICE = "write the columns id and logits"
_DTYPES = (pa.float32(), pa.float64())
MAX_UNPACKED_BYTES = 2**30


def parse_parquet(data: bytes, where: str) -> Rows:
    """The rows of a file's bytes; `where` names the file in errors. Raises UserError."""
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        _check_columns(file.schema_arrow, where)
        check_size(file.metadata, where, f"{ADVICE} only")
        table = file.read(columns=["id", "logits"], use_threads=False)
        table.validate(full=True)
        values = table.column("id").to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UserError(f"{where}: not readable as parquet ({error}); fetch it again") from None
    ids = [id_text(value, f"{where} row {number}") for number, value in enumerate(values, start=1)]
    return checked(ids, _matrix(table.column("logits"), ids, where), where)


def _check_columns(schema: pa.Schema, where: str) -> None:
    for name in ("id", "logits"):
        if schema.names.count(name) != 1:
            columns = ", ".join(schema.names)[:200] or "none"
            raise UserError(f"{where}: needs one column {name}, it has {columns}; {ADVICE}")
    kind = schema.field("logits").type
    if not _is_list(kind) or kind.value_type not in _DTYPES:
        raise UserError(f"{where}: column logits holds {kind}, not lists of float32 or float64; convert it")


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def check_size(metadata: pq.FileMetaData, where: str, advice: str) -> None:
    """Raises UserError, which ends with the advice, where a file would unpack to too much."""
    unpacked = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    if metadata.num_rows > MAX_ROWS or unpacked > MAX_UNPACKED_BYTES:
        raise UserError(
            f"{where}: {metadata.num_rows:,} rows and {unpacked:,} bytes unpacked are more than {MAX_ROWS:,} "
            f"or {MAX_UNPACKED_BYTES:,}, the most that is read; {advice}"
        )


def _matrix(column: pa.ChunkedArray, ids: list[str], where: str) -> npt.NDArray[Any]:
    """[row, letter] in the stored dtype."""
    rows = column.combine_chunks()
    sizes = pc.list_value_length(rows).to_pylist()
    for number, size in enumerate(sizes, start=1):
        if not size or size != sizes[0]:
            raise UserError(
                f"{where} row {number}: id {ids[number - 1]}: {size or 'no'} logits where row 1 has "
                f"{sizes[0] or 'none'}; every row needs the same number"
            )
    values = rows.flatten()
    if values.null_count:
        number = values.is_null().index(True).as_py() // sizes[0] + 1
        raise UserError(f"{where} row {number}: id {ids[number - 1]}: a logit is null; correct the row")
    matrix: npt.NDArray[Any] = values.to_numpy().reshape(len(sizes), sizes[0] if sizes else 0)
    return matrix


CONVERT = "convert the file to parquet with the columns id and logits"


def parse_pickle(data: bytes, where: str) -> Rows:
    """The rows of a file's bytes; `where` names the file in errors. Raises UserError."""
    try:
        rows = unpickle(data)
    except Refused as error:
        raise UserError(f"{where}: {error}; nothing of it was run; fetch it again, or {CONVERT}") from None
    if not isinstance(rows, list) or not rows:
        raise UserError(f"{where}: does not hold a list of rows; {CONVERT}")
    pairs = list(_pairs(rows, where))
    size, dtype = len(pairs[0][1]), pairs[0][1].dtype
    for number, (name, logits) in enumerate(pairs, start=1):
        if len(logits) != size or logits.dtype != dtype:
            raise UserError(
                f"{where} row {number}: id {name}: {len(logits)} logits of {logits.dtype} where row 1 has "
                f"{size} of {dtype}; every row needs the same"
            )
    return checked([name for name, _ in pairs], np.stack([logits for _, logits in pairs]), where)


def _pairs(rows: list[Any], where: str) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """(id, logits) of each row."""
    for number, row in enumerate(rows, start=1):
        here = f"{where} row {number}"
        if not isinstance(row, dict) or "id" not in row or "logits" not in row:
            keys = ", ".join(sorted(row))[:200] if isinstance(row, dict) else "no keys"
            raise UserError(f"{here}: needs the keys id and logits, it has {keys or 'none'}; {CONVERT}")
        name = id_text(row["id"], here)
        yield name, _numbers(row["logits"], f"{here}: id {name}")


def _numbers(array: Any, where: str) -> npt.NDArray[Any]:
    """A one-dimensional array in its stored dtype and native byte order."""
    if not isinstance(array, Array) or array.dtype is None:
        raise UserError(f"{where}: logits is not a numpy array; {CONVERT}")
    dtype = np.dtype(array.dtype.order + array.dtype.code)
    if not array.data or array.shape != (len(array.data) / dtype.itemsize,):
        raise UserError(f"{where}: logits: shape and {len(array.data)} bytes do not fit; fetch it again")
    return np.frombuffer(array.data, dtype).astype(dtype.newbyteorder("="))
