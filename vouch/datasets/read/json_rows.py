"""Lines of JSON: objects without what JSON does not know or leaves open, and what stands under their keys.

key: for the person who is told what is wrong. Every function raises Unusable.

JSON files with a long list of rows, one row in memory at a time.

The list is the whole file, or stands under one of the names in ROWS, among other members (the header):
    {"version": "2.0", "split": "val", "data": [{...}, {...}]}
or there is no list, and the file holds one object after the other (JSON lines). Two such lists are refused.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from json import JSONDecodeError
from pathlib import Path
from typing import IO, Any

from vouch.datasets.raw import Unusable
from vouch.pipeline.errors import UserError

_PLAIN = re.compile(r"\S+(?: \S+)*")


def json_object(line: bytes) -> dict[str, Any]:
    """The object on a line. Raises Unusable for anything else, NaN and keys that stand twice included."""
    try:
        value = DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Unusable(f"not UTF-8 text (byte {error.start + 1} of the line)") from None
    except Unusable:
        raise
    except json.JSONDecodeError as error:
        raise Unusable(f"not JSON ({error.msg} at character {error.pos + 1})") from None
    except (ValueError, RecursionError):
        raise Unusable("not JSON that can be read (a number too long or brackets too deep)") from None
    if not isinstance(value, dict):
        raise Unusable(f"holds a {type(value).__name__}, not an object; write {{...}} on every line")
    return value


def _constant(text: str) -> Any:
    raise Unusable(f"holds {text}, which is not JSON; use null or a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Unusable(f"key {key!r:.60} stands twice in one object")
            seen.add(key)
    return values


def finite(text: str) -> float:
    """A number of JSON with a fraction or an exponent. Raises Unusable where no float is as large."""
    value = float(text)
    if math.isinf(value):
        raise Unusable(f"holds {text:.40}, larger than any number that is read; put it in quotes")
    return value


DECODER = json.JSONDecoder(parse_constant=_constant, parse_float=finite, object_pairs_hook=_unique)
"""Refuses what JSON leaves open: NaN, infinity, numbers that would become it, and keys that stand twice."""


def listed_names(names: Iterable[str]) -> str:
    """Names of keys or columns for a person: in quotes where blanks or signs do not show otherwise."""
    shown = (name if _PLAIN.fullmatch(name) and name.isprintable() else repr(name) for name in names)
    return ", ".join(shown)[:200].replace("  ", r"\x20\x20")  # an error's blanks become one


def references(value: Any, key: str) -> list[str]:
    """A text or several, of which each is a right answer."""
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise Unusable(f"{key} is not a text or a list of texts; put numbers in quotes")
    return texts


def text(values: Mapping[str, Any], key: str) -> str:
    """A text that must be there."""
    value = values[key]
    if not isinstance(value, str):
        raise Unusable(f"{key} is a {type(value).__name__}, not a text")
    return value


def options(value: Any, key: str) -> list[str | None]:
    """The options in their order; null for a missing text."""
    if not isinstance(value, list):
        raise Unusable(f"{key} is a {type(value).__name__}, not a list of texts")
    for index, option in enumerate(value):
        if option is not None and not isinstance(option, str):
            raise Unusable(f"{key}[{index}] is a {type(option).__name__}, not a text; put it in quotes")
    return value


def turns(value: Any, key: str) -> list[str]:
    """Ids of the earlier lines of a conversation, first to last."""
    ids = [] if value is None else value
    if not isinstance(ids, list) or not all(type(one) in (str, int) for one in ids):
        raise Unusable(f"{key} is not a list of ids of earlier lines")
    return [str(one) for one in ids]


def exchange(value: Any, key: str) -> list[str | None]:
    """For each image the path of the one that can take its place, or null."""
    paths = [] if value is None else value
    if not isinstance(paths, list) or not all(path is None or isinstance(path, str) for path in paths):
        raise Unusable(f"{key} is not a list of paths and nulls, one for each image")
    return paths


def group(value: Any, key: str) -> str:
    """The name of a group."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Unusable(f"{key} is a {type(value).__name__}, not a text or an integer that names a group")
    return str(value)


def answers(value: Any, options: Sequence[str | None], key: str) -> list[int]:
    """0-based indices of the options that are right; given as indices, texts or letters, one or several."""
    given = value if isinstance(value, list) else [value]
    return [_index(one, options, key) for one in given]


def _index(value: Any, options: Sequence[str | None], key: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise Unusable(f"{key} is a {type(value).__name__}, not an index, a letter or an option's text")
    candidates = {index for index, option in enumerate(options) if option == value}
    letter = ord(value) - ord("A") if len(value) == 1 else -1
    if 0 <= letter < len(options):
        candidates.add(letter)
    if not candidates:
        raise Unusable(f"{key} {value!r:.80} is neither a letter nor a text of its {len(options)} options")
    if len(candidates) > 1:
        letters = " or ".join(chr(ord("A") + index) for index in sorted(candidates))
        raise Unusable(f"{key} {value!r:.80} can mean option {letters}; give the 0-based index")
    return candidates.pop()


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
