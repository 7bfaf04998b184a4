"""One row of a published dataset, with the kinds of cells that occur in them."""

import ast
import base64
import binascii
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vouch.datasets.raw import RawItem, Rejected, Unusable
from vouch.datasets.read.files import File

_MAX_LITERAL = 100_000  # characters of a list that is written as text; reading it takes 500 bytes for each
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")  # `int` takes `1_0` as well, and digits of every script


@dataclass(frozen=True)
class Row:
    """values: by column; a column that the table lacks is null. where: file and row, for messages.

    number: of the row, from 0, through all tables. file: the table. Every method raises Unusable, with the
    column, where a cell is not what it asks for.
    """

    values: Mapping[str, Any]
    where: str
    number: int
    file: File

    def with_cell(self, column: str, value: Any) -> "Row":
        """The row with another value of one column."""
        return replace(self, values={**self.values, column: value})

    def maybe(self, column: str) -> str | None:
        """A text, or null; numbers become texts."""
        return as_text(self.values.get(column), column)

    def text(self, column: str) -> str:
        """A text that must be there."""
        value = self.maybe(column)
        if value is None:
            raise Unusable(f"{column} is missing")
        return value

    def integer(self, column: str) -> int:
        """An integer, also one written as text."""
        value = self.values.get(column)
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise Unusable(f"{column} is a {type(value).__name__}, not an integer")
        try:
            if isinstance(value, int) or _INTEGER.fullmatch(value):
                return int(value)
        except ValueError:  # more digits than Python reads
            pass
        raise Unusable(f"{column} {value!r:.40} is not an integer")

    def texts(self, column: str) -> list[str]:
        """A list of texts, also one written as a Python list in a text."""
        value = self.values.get(column)
        if isinstance(value, str):
            value = listed(value, column)
        if not isinstance(value, Sequence) or isinstance(value, bytes):
            raise Unusable(f"{column} is a {type(value).__name__}, not a list of texts")
        for element in value:
            if not isinstance(element, str):
                raise Unusable(f"{column} holds a {type(element).__name__}, not only texts")
        return list(value)

    def images(self, column: str) -> list[bytes]:
        """Encoded images, one or a list: the hub's image feature (bytes, path), or base64; empty for none."""
        value = self.values.get(column)
        if value == "":
            return []
        cells = value if isinstance(value, list) else [value]
        return [_image(cell, column) for cell in cells if not is_missing(cell)]

    def numbered(self, columns: Sequence[str]) -> list[bytes]:
        """Images in columns of their own, up to the last one that is there; none before it may be missing."""
        found = [self.images(column) for column in columns]
        while found and not found[-1]:
            found.pop()
        if not all(found):
            raise Unusable(f"{columns[found.index([])]} is missing, but a later one is there")
        return [image for images in found for image in images]

    def letter(self, column: str, options: int) -> int:
        """The 0-based index of an answer that is a letter."""
        value = self.text(column).strip()
        index = ord(value) - ord("A") if len(value) == 1 else -1
        if not 0 <= index < options:
            raise Unusable(f"{column} {value!r:.40} is not one of the letters of its {options} options")
        return index


def is_missing(value: Any) -> bool:
    """Whether a cell holds nothing: null, or not a number, as tables of numbers write it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_text(value: Any, column: str) -> str | None:
    """A cell as text, or null; numbers become texts. Raises Unusable."""
    if is_missing(value):
        return None
    if isinstance(value, float) and math.isinf(value):
        raise Unusable(f"{column} is infinite; correct it, or write it as a text")
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    advice = "; write the words, such as yes and no" if isinstance(value, bool) else ""
    raise Unusable(f"{column} is a {type(value).__name__}, not a text{advice}")


def _image(cell: Any, column: str) -> bytes:
    if isinstance(cell, Mapping):
        data = cell.get("bytes")
        if data is None:
            raise Unusable(f"{column} names the file {cell.get('path')!r:.80}, which is not in the table")
        if not isinstance(data, bytes):
            raise Unusable(f"{column} holds a {type(data).__name__} in place of an image's bytes")
        return data
    if isinstance(cell, bytes):
        return cell
    if isinstance(cell, str):
        return decoded(cell, column)
    raise Unusable(f"{column} is a {type(cell).__name__}, not an image")


def decoded(text: str, column: str) -> bytes:
    """The bytes of an image in base64, `data:image/...;base64,` before it or not. Raises Unusable."""
    try:
        return base64.b64decode("".join(text.rpartition("base64,")[2].split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Unusable(f"{column} is not base64 ({error})") from None


def listed(text: str, column: str) -> Any:
    """The value of a Python list written as text; nothing else is read, nothing is run. Raises Unusable."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a backslash in an option
            value = ast.literal_eval(text) if len(text) <= _MAX_LITERAL else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise Unusable(f"{column} {text!r:.60} is no list written as text")
    return value


def items(found: Iterable[Row], make: Callable[[Row], RawItem | None]) -> Iterator[RawItem | Rejected]:
    """What `make` makes of each row; null leaves a row out, Unusable rejects it."""
    for row in found:
        try:
            item = make(row)
        except Unusable as error:
            yield Rejected(row.where, "", str(error))
        else:
            if item is not None:
                yield item
