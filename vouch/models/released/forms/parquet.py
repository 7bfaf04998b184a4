"""A table with the columns id (integer or text) and logits (list of float32 or float64)."""

from typing import Any

import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vouch.models.released.forms import MAX_ROWS, Rows, checked, id_text
from vouch.pipeline.errors import UserError

SUFFIXES = (".parquet",)
ADVICE = "write the columns id and logits"
_DTYPES = (pa.float32(), pa.float64())
MAX_UNPACKED_BYTES = 2**30


def parse(data: bytes, where: str) -> Rows:
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
            found = ", ".join(schema.names)[:200] or "none"
            raise UserError(f"{where}: needs one column {name}, it has {found}; {ADVICE}")
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
