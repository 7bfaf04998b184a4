"""JSON of datasets: objects on lines, the values under their keys, and files with one long list of rows.

Anything that JSON leaves undefined is refused: NaN, infinity, numbers without a float, duplicate keys. The
functions that read one value raise Unusable, naming the key.

`rows` and `header` keep one row of a file in memory at a time. The list of rows is the whole file, or is
under one of the names in ROWS, among other members (the header):
    {"version": "2.0", "split": "val", "data": [{...}, {...}]}
or, in files of dialogues, one level deeper, beside lists that the dialogues point into:
    {"version": "1.0", "data": {"questions": [...], "answers": [...], "dialogs": [{...}, {...}]}}
Or there is no list, and the file has one object after the other (JSON lines). Two such lists are refused.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from vouch.datasets.raw import Unusable
from vouch.pipeline.errors import UserError

_PLAIN = re.compile(r"\S+(?: \S+)*")


def json_object(line: bytes) -> dict[str, Any]:
    """The object on a line. Raises Unusable for anything else, including NaN and duplicate keys."""
    try:
        value = DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Unusable(f"not UTF-8 text (byte {error.start + 1} of the line)") from None
    except Unusable:
        raise
    except json.JSONDecodeError as error:
        raise Unusable(f"not JSON ({error.msg} at character {error.pos + 1})") from None
    except (ValueError, RecursionError):
        raise Unusable("not readable JSON (a number is too long or brackets are too deep)") from None
    if not isinstance(value, dict):
        raise Unusable(f"has a {type(value).__name__}, not an object; write {{...}} on every line")
    return value


def _constant(text: str) -> Any:
    raise Unusable(f"has {text}, which is not JSON; use null or a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Unusable(f"duplicate key {key!r:.60} in one object")
            seen.add(key)
    return values


def finite(text: str) -> float:
    """A JSON number with a fraction or an exponent. Raises Unusable if it is too large for a float."""
    value = float(text)
    if math.isinf(value):
        raise Unusable(f"has {text:.40}, a number that is too large; put it in quotes")
    return value


DECODER = json.JSONDecoder(parse_constant=_constant, parse_float=finite, object_pairs_hook=_unique)
"""Refuses NaN, infinity, numbers that would become infinity, and duplicate keys."""


def listed_names(names: Iterable[str]) -> str:
    """Names of keys or columns for a message, in quotes if blanks or special characters would not show."""
    shown = (name if _PLAIN.fullmatch(name) and name.isprintable() else repr(name) for name in names)
    return ", ".join(shown)[:200].replace("  ", r"\x20\x20")  # messages squeeze blanks


def text(values: Mapping[str, Any], key: str) -> str:
    """A text that must not be missing."""
    value = values[key]
    if not isinstance(value, str):
        raise Unusable(f"{key} is a {type(value).__name__}, not a text")
    return value


def options(value: Any, key: str) -> list[str | None]:
    """The options in order; None for a missing text."""
    if not isinstance(value, list):
        raise Unusable(f"{key} is a {type(value).__name__}, not a list of texts")
    for index, option in enumerate(value):
        if option is not None and not isinstance(option, str):
            raise Unusable(f"{key}[{index}] is a {type(option).__name__}, not a text; put it in quotes")
    return value


def answer(value: Any, options: Sequence[str | None], key: str) -> int:
    """The 0-based index of a correct option, given as an index, its text or its letter."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise Unusable(f"{key} is a {type(value).__name__}, not an index, a letter or an option's text")
    candidates = {index for index, option in enumerate(options) if option == value}
    letter = ord(value) - ord("A") if len(value) == 1 else -1
    if 0 <= letter < len(options):
        candidates.add(letter)
    if not candidates:
        raise Unusable(
            f"{key} {value!r:.80} is neither a letter nor the text of one of its {len(options)} options"
        )
    if len(candidates) > 1:
        letters = " or ".join(chr(ord("A") + index) for index in sorted(candidates))
        raise Unusable(f"{key} {value!r:.80} can mean option {letters}; give the 0-based index")
    return candidates.pop()


ROWS = ("data", "questions", "annotations")
DIALOGUES = ("dialogs",)
_CHUNK = 4 * 2**20  # characters read at a time at least; rows hold images of some hundred thousand
_LONGEST = 1 << 28  # characters of a value, an image in base64 included
_BLANK = re.compile(r"[ \t\n\r\ufeff]*")
_DIGITS = re.compile(r"[0-9.eE+-]*")


Members = Iterator[tuple[str | None, Any]]  # the members with their names, and each row with None


def rows(path: Path) -> Iterator[Any]:
    """The rows in order. Raises UserError if the file is not JSON of that form."""
    return (value for name, value in _members(path) if name is None)


def header(path: Path) -> dict[str, Any]:
    """All members other than the rows, whether before or after them. Raises UserError."""
    return {name: value for name, value in _members(path) if name is not None}


def _members(path: Path) -> Members:
    try:
        with path.open(encoding="utf-8") as file:
            yield from _top(_Reader(file))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except Unusable as error:
        raise UserError(f"{path}: {error}; correct the file, or fetch it again") from None
    except RecursionError:
        raise UserError(f"{path}: not readable JSON (brackets are too deep)") from None
    except ValueError as error:  # JSON and UTF-8
        raise UserError(f"{path}: not JSON ({error!s:.120}); fetch it again") from None


def _top(reader: "_Reader") -> Members:
    if reader.peek() == "[":
        for row in reader.elements():
            yield None, row
    else:
        first, listed = dict[str, Any](), False
        for name, value in reader.members():
            if name is None:
                listed = True
                yield None, value
            else:
                first[name] = value
        if reader.peek() == "{" and not listed:
            yield None, first
            while reader.peek():
                yield None, reader.value()
        else:
            yield from first.items()
    if reader.peek():
        raise ValueError("more text after its end")


class _Reader:
    """Reads JSON values from a file of which only a part is in memory."""

    def __init__(self, file: IO[str]) -> None:
        self._file, self._text, self._at = file, "", 0

    def _more(self) -> bool:
        # Reads at least as much as is left, so that a long value is parsed a few times, not once per chunk.
        left = self._text[self._at :]
        if len(left) > _LONGEST:
            raise ValueError(f"a value of more than {_LONGEST:,} characters")
        chunk = self._file.read(max(_CHUNK, len(left)))
        self._text, self._at = left + chunk, 0
        return bool(chunk)

    def peek(self) -> str:
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def take(self, wanted: str) -> None:
        character = self.peek()
        if character != wanted:
            raise ValueError(f"{character or 'its end'} instead of {wanted}")
        self._at += 1

    def value(self) -> Any:
        self.peek()
        while True:
            start = self._at
            try:
                value, end = DECODER.raw_decode(self._text, start)
            except json.JSONDecodeError:
                if not self._more():
                    raise
            else:
                digits = _DIGITS.match(self._text, end)  # a number may continue in the next chunk
                if (digits and digits.end() < len(self._text)) or not self._more():
                    self._at += end - start
                    return value

    def members(self, lists: Sequence[str] = ROWS) -> Members:
        """The members of an object. Raises Unusable for a duplicate name, and for two lists of rows.

        lists: the names that a list of rows may have.
        """
        listed, names = "", set[str]()
        self.take("{")
        while self.peek() != "}":
            name = str(self.value())
            self.take(":")
            if name in names:
                raise Unusable(f"duplicate key {name!r:.60} in one object")
            names.add(name)
            if name in lists and self.peek() == "[":
                if listed:
                    raise Unusable(f"has lists of rows under {listed} and {name}")
                listed = name
                for row in self.elements():
                    yield None, row
            elif name == "data" and lists is ROWS and self.peek() == "{":
                beside = dict[str, Any]()
                for inner, value in self.members(DIALOGUES):
                    if inner is None:
                        listed = name
                        yield None, value
                    else:
                        beside[inner] = value
                yield name, beside
            else:
                yield name, self.value()
            if self.peek() != "}":
                self.take(",")
        self.take("}")

    def elements(self) -> Iterator[Any]:
        self.take("[")
        while self.peek() != "]":
            yield self.value()
            if self.peek() != "]":
                self.take(",")
        self.take("]")
