"""Reads a pickle of plain rows with an unpickler that can build nothing but data.

Promise: no code of a file runs, and a hostile file costs bounded work and memory. `find_class` knows three
names (numpy's array, dtype and array reconstruction), which stand for plain data here. Only the steps that
build lists, dicts, tuples, texts, numbers and arrays are there. Keys are texts, because hashing a tuple that
holds itself twice, 60 levels deep, never ends.

It is the Python implementation of `pickle.Unpickler`: the one in C takes the index of a memo from the file,
and allocates 64 GiB for a file of ten bytes.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MAX_STEPS = 5_000_000
MAX_DEPTH = 10_000


class Refused(ValueError):
    """Where and why a pickle is not read, in words that fit after the file's name."""


@dataclass
class Dtype:
    """float32 or float64; the byte order comes in a second step."""

    code: str
    order: str = "<"

    def set_state(self, state: Any) -> None:
        """What numpy writes for plain numbers. Raises Refused."""
        match state:
            case (3, "<" | ">" as order, None, None, None, -1, -1, 0):
                self.order = order
            case _:
                raise Refused("an array is in a state that numpy does not write for plain numbers")


@dataclass
class Array:
    """A numpy array under construction."""

    shape: tuple[int, ...] = ()
    dtype: Dtype | None = None
    data: bytes = b""

    def set_state(self, state: Any) -> None:
        """What numpy writes for plain numbers. Raises Refused."""
        match state:
            case (1, tuple() as shape, Dtype() as dtype, False, bytes() as data):
                self.shape, self.dtype, self.data = shape, dtype, data
            case _:
                raise Refused("an array is in a state that numpy does not write for plain numbers")


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


class _Source:
    """The bytes of a file. Every step reads at least once, so counting reads bounds the steps."""

    def __init__(self, data: bytes) -> None:
        self._data, self.place, self._reads = data, 0, 0

    def _until(self, end: int) -> bytes:
        self._reads += 1
        if self._reads > MAX_STEPS:
            raise Refused(f"more than {MAX_STEPS:,} steps")
        if end > len(self._data):
            raise Refused("not a whole pickle")
        start, self.place = self.place, end
        return self._data[start:end]

    def read(self, size: int) -> bytes:
        """So many bytes. Raises Refused where fewer are left."""
        return self._until(self.place + size)

    def readline(self) -> bytes:
        """Up to the end of a line. Raises Refused where it has none."""
        end = self._data.find(b"\n", self.place)
        return self._until(end + 1 if end >= 0 else len(self._data) + 1)


_PYTHON: Any = pickle._Unpickler


class _Unpickler(_PYTHON):  # type: ignore[misc]
    """Builds lists, dicts, tuples, texts, numbers and Array."""

    stack: list[Any]
    metastack: list[list[Any]]

    def find_class(self, module: str, name: str) -> Any:
        """What a name stands for. Raises Refused for any but the known ones."""
        if (module, name) not in _NAMES:
            raise Refused(f"it asks for {module!s:.60}.{name!s:.60}, which a list of logits does not need")
        return _NAMES[module, name]

    def refuse(self) -> None:
        """Instead of a step that builds anything else than data."""
        raise Refused("it holds a step that is not among those that build a list of rows")

    def load_mark(self) -> None:
        """Begins a batch."""
        self._check_depth()
        super().load_mark()

    def load_empty_list(self) -> None:
        """Begins a list."""
        self._check_depth()
        super().load_empty_list()

    def _check_depth(self) -> None:
        if max(len(self.stack), len(self.metastack)) >= MAX_DEPTH:
            raise Refused("nested too deep")

    def load_frame(self) -> None:
        """A frame only says how much to read at once."""
        self.read(8)

    def load_build(self) -> None:
        """Gives an array or a dtype its state, and nothing else."""
        state = self.stack.pop()
        if not isinstance(self.stack[-1], Array | Dtype):
            raise Refused("the steps do not fit together")
        self.stack[-1].set_state(state)

    def load_setitem(self) -> None:
        """Adds one pair to a dict."""
        value = self.stack.pop()
        self._set([self.stack.pop(), value])

    def load_setitems(self) -> None:
        """Adds pairs to a dict."""
        self._set(self.pop_mark())

    def _set(self, flat: list[Any]) -> None:
        keys, values = flat[::2], flat[1::2]
        if not all(isinstance(key, str) for key in keys):
            raise Refused("a row has keys that are not texts")
        if not isinstance(self.stack[-1], dict):
            raise Refused("the steps do not fit together")
        self.stack[-1].update(zip(keys, values, strict=True))


_OWN = {
    pickle.MARK: _Unpickler.load_mark,
    pickle.EMPTY_LIST: _Unpickler.load_empty_list,
    pickle.FRAME: _Unpickler.load_frame,
    pickle.BUILD: _Unpickler.load_build,
    pickle.SETITEM: _Unpickler.load_setitem,
    pickle.SETITEMS: _Unpickler.load_setitems,
}
_Unpickler.dispatch = dict.fromkeys(range(256), _Unpickler.refuse) | {
    step[0]: _OWN.get(step, _PYTHON.dispatch[step[0]]) for step in _STEPS
}


def unpickle(data: bytes) -> Any:
    """What a pickle holds: lists, dicts, tuples, texts, numbers and Array. Raises Refused."""
    source = _Source(data)
    unpickler = _Unpickler(source)
    try:
        value = unpickler.load()
        if unpickler.stack or source.place != len(data):
            raise Refused("something follows the end of the list")
    except Refused as error:
        raise Refused(f"byte {source.place}: {error}") from None
    except Exception as error:  # the steps do not fit together, which shows wherever they first matter
        raise Refused(f"byte {source.place}: not a whole pickle ({error!s:.120})") from None
    return value
