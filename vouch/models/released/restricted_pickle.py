"""Reads a pickle of plain rows with an unpickler that can build nothing but data.

Promise: no code of a file runs, and a hostile file costs bounded work and memory. `find_class` knows three
names (numpy's array, dtype and array reconstruction), which stand for plain data here. Only the steps that
build lists, dicts, tuples, texts, numbers and arrays are there.

It is the Python implementation of `pickle.Unpickler`: the one in C takes the index of a memo from the file,
and allocates 64 GiB for a file of ten bytes.
"""

import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MAX_STEPS = 5_000_000
PROTOCOLS = (3, 4)  # others say the same in steps and names that are not here


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
        """So many bytes, fewer at the end. Raises Refused."""
        self.reads += 1
        if self.reads > MAX_STEPS:
            raise Refused(f"more than {MAX_STEPS:,} steps")
        return super().read(size)


_PYTHON: Any = pickle._Unpickler


class _Unpickler(_PYTHON):  # type: ignore[misc]
    """Builds lists, dicts, tuples, texts, numbers and Array."""

    def find_class(self, module: str, name: str) -> Any:
        """What a name stands for. Raises Refused for any but the known ones."""
        if (module, name) not in _NAMES:
            raise Refused(f"it asks for {module!s:.60}.{name!s:.60}, which a list of logits does not need")
        return _NAMES[module, name]

    def refuse(self) -> None:
        """Instead of a step that builds anything else than data."""
        raise Refused("it holds a step that is not among those that build a list of rows")

    def refuse_long(self) -> None:
        """Instead of an integer of more than 32 bits."""
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
    """What a pickle holds: lists, dicts, tuples, texts, numbers and Array. Raises Refused."""
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
