"""Reads a pickle of plain rows without unpickling it.

A pickle is a program for a small stack machine. This machine knows only the steps that build lists,
dicts, tuples, texts and numbers, and three names (numpy's array, dtype and array reconstruction), which
stand for plain data here. Nothing is imported and nothing is called, so a hostile file can at worst be
refused. Work and memory are bounded by the number of bytes and of steps.
"""

import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MAX_STEPS = 5_000_000
MAX_DEPTH = 10_000


class Refused(ValueError):
    """Where and why a pickle is not read, in words that fit after the file's name."""


@dataclass(frozen=True)
class _Name:
    """A name that a pickle may mention: it stands for itself."""

    text: str


_ARRAY, _DTYPE, _RECONSTRUCT = _Name("ndarray"), _Name("dtype"), _Name("reconstruct")
_NAMES = {
    ("numpy", "ndarray"): _ARRAY,
    ("numpy", "dtype"): _DTYPE,
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
}


@dataclass
class Dtype:
    """float32 or float64; the byte order comes in a second step."""

    code: str
    order: str = "<"


@dataclass
class Array:
    """A numpy array under construction."""

    shape: tuple[int, ...] = ()
    dtype: Dtype | None = None
    data: bytes = b""


_MARK = object()


class _Machine:
    """The stack machine."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        """One step. Raises Refused for a step that builds anything else than data."""
        if name not in _STEPS:
            raise Refused(f"step {name} is not among those that build a list of rows")
        _STEPS[name](self, argument)

    def push(self, value: Any) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise Refused("nested too deep")
        self.stack.append(value)

    def pop(self, kind: type = object) -> Any:
        value = self.stack.pop() if self.stack else _MARK
        if value is _MARK or not isinstance(value, kind):
            raise Refused("the steps do not fit together")
        return value

    def pop_to_mark(self) -> list[Any]:
        values: list[Any] = []
        while self.stack and self.stack[-1] is not _MARK:
            values.append(self.stack.pop())
        if not self.stack:
            raise Refused("the steps do not fit together")
        self.stack.pop()
        return values[::-1]

    def top(self, kind: type) -> Any:
        value = self.pop(kind)
        self.stack.append(value)
        return value


def _pop_tuple(machine: _Machine, size: int) -> None:
    machine.push(tuple(machine.pop() for _ in range(size))[::-1])


def _append(machine: _Machine, values: list[Any]) -> None:
    machine.top(list).extend(values)


def _set(machine: _Machine, flat: list[Any]) -> None:
    keys, values = flat[::2], flat[1::2]
    if len(keys) != len(values) or not all(isinstance(key, str) for key in keys):
        raise Refused("a row has keys that are not texts")
    machine.top(dict).update(zip(keys, values, strict=True))


def _remember(machine: _Machine, index: int | None) -> None:
    machine.memo[len(machine.memo) if index is None else index] = machine.top(object)


def _recall(machine: _Machine, index: int) -> None:
    if index not in machine.memo:
        raise Refused("the steps do not fit together")
    machine.push(machine.memo[index])


def _name(machine: _Machine, module: Any, name: Any) -> None:
    if (module, name) not in _NAMES:
        raise Refused(f"it asks for {module!s:.60}.{name!s:.60}, which a list of logits does not need")
    machine.push(_NAMES[module, name])


def _global(machine: _Machine, argument: str) -> None:
    module, _, name = argument.partition(" ")
    _name(machine, module, name)


def _stack_global(machine: _Machine, _: None) -> None:
    name = machine.pop(str)
    _name(machine, machine.pop(str), name)


def _reduce(machine: _Machine, _: None) -> None:
    arguments = machine.pop(tuple)
    match machine.pop(_Name), arguments:
        case (called, (made, (0,), b"b")) if called is _RECONSTRUCT and made is _ARRAY:
            machine.push(Array())
        case (called, ("f4" | "f8" as code, bool(), bool())) if called is _DTYPE:
            machine.push(Dtype(code))
        case (called, (str(code), *_)) if called is _DTYPE:
            raise Refused(f"an array holds {code:.20}, not float32 (f4) or float64 (f8)")
        case _:
            raise Refused("it builds something else than an array of numbers")


def _build(machine: _Machine, _: None) -> None:
    state = machine.pop(tuple)
    match machine.top(object), state:
        case (Dtype() as dtype, (3, "<" | ">" as order, None, None, None, -1, -1, 0)):
            dtype.order = order
        case (Array() as array, (1, tuple() as shape, Dtype() as dtype, False, bytes() as data)):
            array.shape, array.dtype, array.data = shape, dtype, data
        case _:
            raise Refused("an array is in a state that numpy does not write for plain numbers")


def _push(machine: _Machine, value: Any) -> None:
    machine.push(value)


_STEPS: Mapping[str, Callable[[_Machine, Any], None]] = {
    "PROTO": lambda machine, _: None,
    "FRAME": lambda machine, _: None,
    "BININT": _push,
    "BININT1": _push,
    "BININT2": _push,
    "BINFLOAT": _push,
    "SHORT_BINUNICODE": _push,
    "BINUNICODE": _push,
    "SHORT_BINBYTES": _push,
    "BINBYTES": _push,
    "NONE": lambda machine, _: machine.push(None),
    "NEWTRUE": lambda machine, _: machine.push(True),
    "NEWFALSE": lambda machine, _: machine.push(False),
    "MARK": lambda machine, _: machine.push(_MARK),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "TUPLE1": lambda machine, _: _pop_tuple(machine, 1),
    "TUPLE2": lambda machine, _: _pop_tuple(machine, 2),
    "TUPLE3": lambda machine, _: _pop_tuple(machine, 3),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.pop_to_mark())),
    "APPEND": lambda machine, _: _append(machine, [machine.pop()]),
    "APPENDS": lambda machine, _: _append(machine, machine.pop_to_mark()),
    "SETITEM": lambda machine, _: _set(machine, [machine.pop(), machine.pop()][::-1]),
    "SETITEMS": lambda machine, _: _set(machine, machine.pop_to_mark()),
    "MEMOIZE": _remember,
    "BINPUT": _remember,
    "LONG_BINPUT": _remember,
    "BINGET": _recall,
    "LONG_BINGET": _recall,
    "GLOBAL": _global,
    "STACK_GLOBAL": _stack_global,
    "REDUCE": _reduce,
    "BUILD": _build,
}


def interpret(data: bytes) -> Any:
    """What the steps build: lists, dicts, tuples, texts, numbers and Array. Raises Refused."""
    machine, position = _Machine(), 0
    try:
        for count, (opcode, argument, at) in enumerate(pickletools.genops(data)):
            position = at or 0
            if count >= MAX_STEPS:
                raise Refused(f"more than {MAX_STEPS:,} steps")
            if opcode.name == "STOP":
                break
            machine.step(opcode.name, argument)
        value = machine.pop()
        if machine.stack or position + 1 != len(data):
            raise Refused("something follows the end of the list")
        return value
    except Refused as error:
        raise Refused(f"byte {position}: {error}") from None
    except (ValueError, OverflowError) as error:
        raise Refused(f"byte {position}: not a whole pickle ({error!s:.120})") from None
