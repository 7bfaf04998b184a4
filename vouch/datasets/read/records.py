"""JSON files with a long list of rows, one row in memory at a time.

The list is the whole file, or stands under one of the names in ROWS, among other members (the header):
    {"version": "2.0", "split": "val", "data": [{...}, {...}]}
or there is no list, and the file holds one object after the other (JSON lines). Two such lists are refused.
"""

import re
from collections.abc import Iterator
from json import JSONDecodeError
from pathlib import Path
from typing import IO, Any

from vouch.datasets.raw import Unusable
from vouch.datasets.read.json_line import DECODER
from vouch.pipeline.errors import UserError

ROWS = ("data", "questions", "annotations")
_CHUNK = 4 * 2**20  # characters read at a time at least; rows hold images of some hundred thousand
_LONGEST = 1 << 28  # characters of a value, an image in base64 included
_BLANK = re.compile(r"[ \t\n\r\ufeff]*")
_DIGITS = re.compile(r"[0-9.eE+-]*")


def rows(path: Path) -> Iterator[Any]:
    """The rows in their order. Raises UserError where the file is not such JSON."""
    return (value for name, value in _members(path) if name is None)


def header(path: Path) -> dict[str, Any]:
    """All members but the rows, wherever they stand. Raises UserError."""
    return {name: value for name, value in _members(path) if name is not None}


def _members(path: Path) -> Iterator[tuple[str | None, Any]]:
    """Each member with its name, and each row with none."""
    try:
        with path.open(encoding="utf-8") as file:
            yield from _top(_Reader(file))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except Unusable as error:
        raise UserError(f"{path}: {error}; correct the file, or fetch it again") from None
    except RecursionError:
        raise UserError(f"{path}: not JSON that can be read (brackets too deep)") from None
    except ValueError as error:  # JSON and UTF-8
        raise UserError(f"{path}: not JSON ({error!s:.120}); fetch it again") from None


def _top(reader: "_Reader") -> Iterator[tuple[str | None, Any]]:
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
    """Takes JSON values off a file, a part of which is in memory."""

    def __init__(self, file: IO[str]) -> None:
        self._file, self._text, self._at = file, "", 0

    def _more(self) -> bool:
        # As much again as is waiting: a long value is then tried a few times, not once for each part.
        left = self._text[self._at :]
        if len(left) > _LONGEST:
            raise ValueError(f"a value of more than {_LONGEST:,} characters")
        chunk = self._file.read(max(_CHUNK, len(left)))
        self._text, self._at = left + chunk, 0
        return bool(chunk)

    def peek(self) -> str:
        """The next character that is no blank, empty at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def take(self, wanted: str) -> None:
        """Goes past a character. Raises ValueError where another one stands."""
        found = self.peek()
        if found != wanted:
            raise ValueError(f"{found or 'its end'} where {wanted} should stand")
        self._at += 1

    def value(self) -> Any:
        """The next value. Raises ValueError."""
        self.peek()
        while True:
            start = self._at
            try:
                value, end = DECODER.raw_decode(self._text, start)
            except JSONDecodeError:
                if not self._more():
                    raise
            else:
                if self._number_ends(end) or not self._more():
                    self._at += end - start
                    return value

    def _number_ends(self, end: int) -> bool:
        """Whether no number that was read to there may go on in the next part."""
        digits = _DIGITS.match(self._text, end)
        return digits is None or digits.end() < len(self._text)

    def members(self) -> Iterator[tuple[str | None, Any]]:
        """The members of an object, those of a list of rows one by one, without a name.

        Raises Unusable for a name that stands twice and for rows under two: which are meant?
        """
        listed, names = "", set[str]()
        self.take("{")
        while self.peek() != "}":
            name = str(self.value())
            self.take(":")
            if name in names:
                raise Unusable(f"key {name!r:.60} stands twice in one object")
            names.add(name)
            if name in ROWS and self.peek() == "[":
                if listed:
                    raise Unusable(f"has lists of rows under {listed} and {name}")
                listed = name
                for row in self.elements():
                    yield None, row
            else:
                yield name, self.value()
            if self.peek() != "}":
                self.take(",")
        self.take("}")

    def elements(self) -> Iterator[Any]:
        """The values of a list."""
        self.take("[")
        while self.peek() != "]":
            yield self.value()
            if self.peek() != "]":
                self.take(",")
        self.take("]")
