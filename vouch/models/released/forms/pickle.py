"""The pickle in which VLM-Uncertainty-Bench releases logits: a list of dicts, each with id and a numpy array.

No code of the file runs, see vouch/models/released/restricted_pickle.py.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from vouch.models.released.restricted_pickle import Array, Refused, unpickle
from vouch.models.released.rows import Rows, checked, id_text
from vouch.pipeline.errors import UserError

SUFFIXES = (".pkl", ".pickle")
_ADVICE = "convert the file to parquet with the columns id and logits"


def parse(data: bytes, where: str) -> Rows:
    """The rows of a file's bytes; `where` names the file in errors. Raises UserError."""
    try:
        rows = unpickle(data)
    except Refused as error:
        raise UserError(f"{where}: {error}; nothing of it was run; fetch it again, or {_ADVICE}") from None
    if not isinstance(rows, list) or not rows:
        raise UserError(f"{where}: does not hold a list of rows; {_ADVICE}")
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
        place = f"{where} row {number}"
        if not isinstance(row, dict) or "id" not in row or "logits" not in row:
            found = ", ".join(sorted(row))[:200] if isinstance(row, dict) else "no keys"
            raise UserError(f"{place}: needs the keys id and logits, it has {found or 'none'}; {_ADVICE}")
        name = id_text(row["id"], place)
        yield name, _numbers(row["logits"], f"{place}: id {name}")


def _numbers(array: Any, where: str) -> npt.NDArray[Any]:
    """A one-dimensional array in its stored dtype and native byte order."""
    if not isinstance(array, Array) or array.dtype is None:
        raise UserError(f"{where}: logits is not a numpy array; {_ADVICE}")
    dtype = np.dtype(array.dtype.order + array.dtype.code)
    if not array.data or array.shape != (len(array.data) / dtype.itemsize,):
        raise UserError(f"{where}: logits: shape and {len(array.data)} bytes do not fit; fetch it again")
    return np.frombuffer(array.data, dtype).astype(dtype.newbyteorder("="))
