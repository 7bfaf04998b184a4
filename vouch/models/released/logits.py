"""Logits that others released, from parquet or from the pickles of VLM-Uncertainty-Bench.

A parquet file has the columns id (integer or text) and logits (list of float32 or float64). A pickle holds a
list of dicts, each with an id and a numpy array.

Pickles are read with an unpickler that can build nothing but data. Promise: no code of a file runs, and a
hostile file costs bounded work and memory. `find_class` knows three names (numpy's array, dtype and array
reconstruction), which build plain data here. Only the steps that build lists, dicts, tuples, texts,
numbers and arrays exist. It is the Python implementation of `pickle.Unpickler`: the one in C takes the
index of a memo from the file, and allocates 64 GiB for a file of ten bytes.
"""

import io
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vouch.pipeline.errors import UserError

MAX_ROWS = 2_000_000
MAX_LETTERS = 26
MAX_ID = 1000


@dataclass(frozen=True)
class LogitRows:
    """ids: as texts, distinct. logits: [row, letter], A first, finite, float32 or float64 as stored."""

    ids: tuple[str, ...]
    logits: npt.NDArray[Any]


def id_text(value: Any, where: str) -> str:
    """An id as text. Raises UserError if it is neither an integer nor a text of sensible length."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise UserError(
            f"{where}: id is a {type(value).__name__}, neither an integer nor a text; correct the file"
        )
    text = str(value)
    if not 0 < len(text) <= MAX_ID:
        raise UserError(f"{where}: id has {len(text)} characters, not 1 to {MAX_ID}; correct the file")
    return text


def checked(ids: Sequence[str], logits: npt.NDArray[Any], where: str) -> LogitRows:
    """Rows from columns. Raises UserError naming file, row and id of the first problem."""
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
    return LogitRows(tuple(ids), logits)


ADVICE = "write the columns id and logits"
MAX_UNPACKED_BYTES = 2**30


def parse_parquet(data: bytes, where: str) -> LogitRows:
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
    lists = pa.ListType | pa.LargeListType | pa.FixedSizeListType
    if not isinstance(kind, lists) or kind.value_type not in (pa.float32(), pa.float64()):
        raise UserError(f"{where}: column logits holds {kind}, not lists of float32 or float64; convert it")


def check_size(metadata: pq.FileMetaData, where: str, advice: str) -> None:
    """Raises UserError, which ends with the advice, if a file would unpack to too much."""
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


MAX_STEPS = 5_000_000
PROTOCOLS = (3, 4)  # others use steps and names that are not implemented here


class Refused(ValueError):
    """Where and why a pickle is not read; the message follows the file's name."""


@dataclass
class Dtype:
    """float32 or float64; the byte order comes in a second step."""

    code: str
    order: str = "<"


@dataclass
class Array:
    """A numpy array; its contents come in a second step."""

    shape: tuple[int, ...] = ()
    dtype: Dtype | None = None
    data: bytes = b""


class _Row(dict[str, Any]):
    """A dict whose keys are texts: hashing a tuple that contains itself twice, 60 levels deep, never ends."""

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, str):
            raise Refused("a row has keys that are not texts")
        super().__setitem__(key, value)


def _ndarray(*_: Any) -> Any:
    raise Refused("it builds something else than an array of numbers")


def _reconstruct(*arguments: Any) -> Array:
    match arguments:
        case (made, (0,), b"b") if made is _ndarray:
            return Array()
    raise Refused("it builds something else than an array of numbers")


def _dtype(*arguments: Any) -> Dtype:
    match arguments:
        case ("f4" | "f8" as code, bool(), bool()):
            return Dtype(code)
        case (str(code), *_):
            raise Refused(f"an array holds {code:.20}, not float32 (f4) or float64 (f8)")
    raise Refused("it builds something else than an array of numbers")


_NAMES: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "ndarray"): _ndarray,
    ("numpy", "dtype"): _dtype,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
}
_STEPS = (
    *(pickle.PROTO, pickle.FRAME, pickle.STOP, pickle.MARK, pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE),
    *(pickle.BININT, pickle.BININT1, pickle.BININT2, pickle.BINFLOAT),
    *(pickle.SHORT_BINUNICODE, pickle.BINUNICODE, pickle.SHORT_BINBYTES, pickle.BINBYTES),
    *(pickle.EMPTY_LIST, pickle.APPEND, pickle.APPENDS, pickle.EMPTY_DICT, pickle.SETITEM, pickle.SETITEMS),
    *(pickle.EMPTY_TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3, pickle.TUPLE),
    *(pickle.MEMOIZE, pickle.BINPUT, pickle.LONG_BINPUT, pickle.BINGET, pickle.LONG_BINGET),
    *(pickle.GLOBAL, pickle.STACK_GLOBAL, pickle.REDUCE, pickle.BUILD),
)


class _Source(io.BytesIO):
    """The bytes of a file. Every step reads at least once, so counting reads bounds the steps."""

    reads = 0

    def read(self, size: int | None = -1) -> bytes:
        """The next `size` bytes, fewer at the end. Raises Refused."""
        self.reads += 1
        if self.reads > MAX_STEPS:
            raise Refused(f"more than {MAX_STEPS:,} steps")
        return super().read(size)


_PYTHON: Any = pickle._Unpickler


class _Unpickler(_PYTHON):  # type: ignore[misc]
    """Builds lists, dicts, tuples, texts, numbers and Array."""

    def find_class(self, module: str, name: str) -> Any:
        """The plain data that a name builds. Raises Refused for any but the known names."""
        if (module, name) not in _NAMES:
            raise Refused(f"it asks for {module!s:.60}.{name!s:.60}, which a list of logits does not need")
        return _NAMES[module, name]

    def refuse(self) -> None:
        """Replaces any step that builds something other than data."""
        raise Refused("it holds a step that is not among those that build a list of rows")

    def refuse_long(self) -> None:
        """Replaces the step that reads an integer of more than 32 bits."""
        raise Refused("it holds an integer, an id perhaps, beyond 2,147,483,647, the largest that is read")

    def load_frame(self) -> None:
        """A frame only says how much to read at once."""
        self.read(8)

    def load_empty_dictionary(self) -> None:
        """Begins a dict."""
        self.append(_Row())

    def load_build(self) -> None:
        """Gives an array or a dtype the state that numpy writes for plain numbers, and nothing else."""
        state = self.stack.pop()
        match self.stack[-1], state:
            case Dtype() as dtype, (3, "<" | ">" as order, None, None, None, -1, -1, 0):
                dtype.order = order
            case Array() as array, (1, tuple() as shape, Dtype() as dtype, False, bytes() as data):
                array.shape, array.dtype, array.data = shape, dtype, data
            case _:
                raise Refused("it builds something else than numpy writes for plain numbers")


_Unpickler.dispatch = dict.fromkeys(range(256), _Unpickler.refuse) | {
    step[0]: getattr(_Unpickler, _PYTHON.dispatch[step[0]].__name__) for step in _STEPS
}
_Unpickler.dispatch |= dict.fromkeys((pickle.LONG1[0], pickle.LONG4[0]), _Unpickler.refuse_long)


def unpickle(data: bytes) -> Any:
    """The content of a pickle: lists, dicts, tuples, texts, numbers and Array. Raises Refused."""
    source = _Source(data)
    unpickler = _Unpickler(source)
    try:
        value = unpickler.load()
        if unpickler.stack or source.tell() != len(data):
            raise Refused("something follows the end of the list")
    except Refused as error:
        known = unpickler.proto in PROTOCOLS
        also = "" if known else f" (it is of protocol {unpickler.proto or '0 or 1'}; 3 and 4 are read)"
        raise Refused(f"byte {source.tell()}: {error}{also}") from None
    except Exception as error:  # the steps do not fit together, which shows wherever they first matter
        raise Refused(f"byte {source.tell()}: not a whole pickle ({error!s:.120})") from None
    return value


CONVERT = "convert the file to parquet with the columns id and logits"


def parse_pickle(data: bytes, where: str) -> LogitRows:
    """The rows of a file's bytes; `where` names the file in errors. Raises UserError."""
    return row_logits(pickled_rows(data, where), where)


def pickled_rows(data: bytes, where: str, advice: str = CONVERT) -> list[Any]:
    """What a pickle lists, not yet checked: one dict per row in a sound file.

    advice: the end of an error, what else to do than to fetch the file again. Raises UserError.
    """
    try:
        rows = unpickle(data)
    except Refused as error:
        raise UserError(f"{where}: {error}; nothing of it was run; fetch it again, or {advice}") from None
    if not isinstance(rows, list) or not rows:
        raise UserError(f"{where}: does not hold a list of rows; {advice}")
    return rows


def row_logits(rows: list[Any], where: str) -> LogitRows:
    """The ids and logits of the rows of a pickle. Raises UserError naming file, row and id."""
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
