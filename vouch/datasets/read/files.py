"""The files of a dataset as a loader sees them, the cells of a row, and the members of zip archives.

No archive is ever unpacked to disk.
"""

import ast
import base64
import json
import lzma
import math
import os
import re
import stat
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any, AnyStr

from vouch.datasets.fetch.origin import Origin, check_name
from vouch.datasets.raw import RawItem, Rejected, Unusable
from vouch.pipeline.dag import left_out
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import check_plain

UNSEEN = ".dvcignore excludes {}, so changes would not be noticed; rename it"
LONGEST_LINE = 1 << 26  # characters of a line of text
_MOST_PACKED = 200  # bytes that one byte of a file may become; texts and images stay far below
_SMALL = 1 << 20  # bytes that may be compressed as much as possible


def is_bomb(unpacked: int, packed: int) -> bool:
    """Whether the bytes of a file would unpack to suspiciously many more."""
    return unpacked > max(_SMALL, _MOST_PACKED * packed)


@dataclass(frozen=True)
class File:
    """name: its path in the repository, or the end of its address. path: its path on this machine.

    root: the folder that a local file must be in; None for a fetched file.
    """

    name: str
    path: Path
    root: Path | None = None

    def checked(self) -> Path:
        """The path. Raises UserError if DVC would not notice changes of the file."""
        try:
            inside = self.root is None or self.path.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError):
            raise UserError(f"{self.path}: a link to itself; put the file there") from None
        if not inside:
            raise UserError(f"{self.path}: a link that leads out of {self.root}; copy the file into it")
        check_plain(self.path)
        if self.root is not None and (part := left_out(self.path)):
            raise UserError(f"{self.path}: {UNSEEN.format(part)}")
        return self.path


def lines(file: IO[AnyStr], path: Path, most: int = LONGEST_LINE) -> Iterator[AnyStr]:
    """The lines of an open file. Raises UserError for a very long line, which would fill memory."""
    number = 0
    while line := file.readline(most + 1):
        number += 1
        if len(line) > most:
            raise UserError(
                f"{path} line {number}: longer than {most:,} characters, in a file of "
                f"{path.stat().st_size:,} bytes; correct the file, or fetch it again"
            )
        yield line


@dataclass(frozen=True)
class SourceFiles:
    """The source of a loader. path: `datasets.NAME.source`. chosen: files that `origin` chose, in its order.

    revision: the commit that was fetched, if any.
    """

    path: Path
    chosen: tuple[File, ...] | None = None
    origin: Origin | None = None
    revision: str | None = None

    @property
    def config(self) -> str:
        """The configuration that `origin` names, or empty."""
        return (self.origin and self.origin.config) or ""

    @property
    def split(self) -> str:
        """The splits that `origin` names (`a+b`), or empty."""
        return (self.origin and self.origin.split) or ""

    @cached_property
    def files(self) -> tuple[File, ...]:
        """The files that `origin` chose, or all files of the folder, sorted, without linked folders."""
        return tuple(walk(self.path)) if self.chosen is None else self.chosen

    def has(self, *suffixes: str) -> bool:
        """Whether a file's name has one of these endings."""
        return any(file.name.lower().endswith(suffixes) for file in self.files)

    def ending(self, *suffixes: str) -> tuple[File, ...]:
        """The files whose names have one of these endings. Raises UserError if there is none."""
        files = tuple(file for file in self.files if file.name.lower().endswith(suffixes))
        if not files:
            wanted = " or ".join(f"*{suffix}" for suffix in suffixes)
            raise UserError(
                f"{self.path}: no file {wanted} among its files ({self.listed()}); correct `source` or "
                "`origin` of this dataset"
            )
        return files

    def listed(self) -> str:
        """The first files, for a message."""
        return ", ".join(file.name for file in self.files[:5]) or "nothing"


def walk(folder: Path) -> Iterator[File]:
    """Every file below a folder, sorted by name; hidden ones are left out. Raises UserError."""
    if not folder.is_dir():
        what = "is a file; name its folder" if folder.is_file() else "no such folder; correct it"
        raise UserError(f"{folder}: {what} as `source` of this dataset in params.yaml")
    names: list[str] = []
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        below = Path(here).relative_to(folder)
        names += [(below / name).as_posix() for name in files if not name.startswith(".")]
    for name in sorted(names):
        yield File(name, folder / name, root=folder)


_MAX_LITERAL = 100_000  # characters of a list written as text; parsing takes 500 bytes for each
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")  # `int` also takes `1_0` and digits of every script


@dataclass(frozen=True)
class Row:
    """One row of a table. Every method raises Unusable, naming the column, for a cell of another kind.

    values: by column; None if the table lacks the column. where: file and row, for messages.
    number: the row's, from 0, counted over all tables. file: the table.
    """

    values: Mapping[str, Any]
    where: str
    number: int
    file: File

    def with_cell(self, column: str, value: Any) -> "Row":
        """The row with another value of one column."""
        return replace(self, values={**self.values, column: value})

    def maybe(self, column: str) -> str | None:
        """A text, or None; numbers become texts."""
        return as_text(self.values.get(column), column)

    def text(self, column: str) -> str:
        """A text that must be there."""
        value = self.maybe(column)
        if value is None:
            raise Unusable(f"{column} is missing")
        return value

    def integer(self, column: str) -> int:
        """An integer, even if written as text."""
        value = self.values.get(column)
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise Unusable(f"{column} is a {type(value).__name__}, not an integer")
        with suppress(ValueError):  # more digits than Python reads
            if isinstance(value, int) or _INTEGER.fullmatch(value):
                return int(value)
        raise Unusable(f"{column} {value!r:.40} is not an integer")

    def texts(self, column: str) -> list[str]:
        """A list of texts, even if written as a Python list."""
        value = self.values.get(column)
        if isinstance(value, str):
            value = listed(value, column)
        if not isinstance(value, Sequence) or isinstance(value, bytes):
            raise Unusable(f"{column} is a {type(value).__name__}, not a list of texts")
        for element in value:
            if not isinstance(element, str):
                raise Unusable(f"{column} has a {type(element).__name__} among its texts")
        return list(value)

    def images(self, column: str) -> list[bytes]:
        """Encoded images, one or several: the hub's image type (bytes, path), or base64; empty for none."""
        value = self.values.get(column)
        if value == "":
            return []
        cells = value if isinstance(value, list) else [value]
        return [_image(cell, column) for cell in cells if not is_missing(cell)]

    def numbered(self, columns: Sequence[str]) -> list[bytes]:
        """Images in several columns, up to the last column that has any; no column before it may be empty."""
        by_column = [self.images(column) for column in columns]
        while by_column and not by_column[-1]:
            by_column.pop()
        if not all(by_column):
            raise Unusable(f"{columns[by_column.index([])]} is missing, but a later one has an image")
        return [image for images in by_column for image in images]

    def letter(self, column: str, options: int) -> int:
        """The 0-based index of an answer that is a letter."""
        value = self.text(column).strip()
        index = ord(value) - ord("A") if len(value) == 1 else -1
        if not 0 <= index < options:
            raise Unusable(f"{column} {value!r:.40} is not one of the letters of its {options} options")
        return index


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, or NaN, as tables of numbers write it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_text(value: Any, column: str) -> str | None:
    """A cell as text, or None; numbers become texts. Raises Unusable."""
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
            raise Unusable(f"{column} has a {type(data).__name__} instead of an image's bytes")
        return data
    if isinstance(cell, bytes):
        return cell
    if isinstance(cell, str):
        return decoded(cell, column)
    raise Unusable(f"{column} is a {type(cell).__name__}, not an image")


def decoded(text: str, column: str) -> bytes:
    """The bytes of an image in base64, with or without a prefix `data:image/...;base64,`. Raises Unusable."""
    try:
        return base64.b64decode("".join(text.rpartition("base64,")[2].split()), validate=True)
    except ValueError as error:
        raise Unusable(f"{column} is not base64 ({error})") from None


def listed(text: str, column: str) -> Any:
    """The value of a Python list written as text; no code is run. Raises Unusable."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a backslash in an option
            value = ast.literal_eval(text) if len(text) <= _MAX_LITERAL else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise Unusable(f"{column} {text!r:.60} is not a list written as text")
    return value


def items(rows: Iterable[Row], make: Callable[[Row], RawItem | None]) -> Iterator[RawItem | Rejected]:
    """The items that `make` makes of rows. If it returns None, the row is left out; Unusable rejects it."""
    for row in rows:
        try:
            item = make(row)
        except Unusable as error:
            yield Rejected(row.where, "", str(error))
        else:
            if item is not None:
                yield item


MAX_MEMBERS = 2_000_000
MAX_BYTES = 1 << 28  # of an image, or of JSON, which takes several times as much memory
# Python's readers of archives raise these on damaged files.
_DAMAGED = (
    *(OSError, ValueError, EOFError, NotImplementedError, RuntimeError, OverflowError, struct.error),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


class Tree(ExitStack):
    """Files by name: the path below the folder, the repository or the archive. Use it in a `with` block.

    Raises UserError for a damaged archive, or one with a name that would lead out of its folder.
    """

    def __init__(self, source: SourceFiles) -> None:
        super().__init__()
        self._where = source.path
        self._files: dict[str, File | tuple[zipfile.ZipFile, zipfile.ZipInfo]] = {}
        self._by_end: dict[str, list[str]] = {}
        try:
            for file in source.files:
                if file.name.lower().endswith(".zip"):
                    self._add_archive(file)
                else:
                    self._add(file.name, file)
        except BaseException:
            self.close()
            raise

    def __contains__(self, name: str) -> bool:
        return name in self._files

    @property
    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._files)

    def find(self, ending: str) -> str | None:
        """The one name that is `ending` or ends with it after a slash, None for none. Raises UserError."""
        names = self._ending(ending)
        if len(names) > 1:
            raise UserError(f"{self._where}: duplicate file {ending}: {names[0]} and {names[1]}; keep one")
        return names[0] if names else None

    def _ending(self, ending: str) -> list[str]:
        same = self._by_end.get(ending.rpartition("/")[2], ())
        return [name for name in same if name == ending or name.endswith(f"/{ending}")]

    def closest(self, path: str, least: int = 1) -> str:
        """The name of the file whose end agrees longest with a path from the authors' machine.

        least: how many parts of the path must agree. Raises Unusable if no file or several files agree.
        """
        parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        for first in range(max(1, len(parts) - least + 1)):
            names = self._ending("/".join(parts[first:]))
            if len(names) == 1:
                return names[0]
        raise Unusable(f"no file {path!r:.120} in {self._where}")

    def read(self, name: str) -> bytes:
        """The bytes of a file. Raises Unusable."""
        entry = self._files.get(name)
        if entry is None:
            raise Unusable(f"no file {name!r:.120} in {self._where}")
        try:
            if isinstance(entry, File):
                path = entry.checked()
                if path.stat().st_size > MAX_BYTES:
                    raise Unusable(f"{name!r:.120} is larger than {MAX_BYTES:,} bytes")
                return path.read_bytes()
            archive, info = entry
            if info.file_size > MAX_BYTES or stat.S_ISLNK(info.external_attr >> 16) or info.flag_bits & 1:
                raise Unusable(f"{name!r:.120} is too large, a link or encrypted in its archive; replace it")
            if is_bomb(info.file_size, info.compress_size):
                raise Unusable(
                    f"{name!r:.120} is {info.compress_size:,} bytes in its archive and would become "
                    f"{info.file_size:,}, which looks like a zip bomb; leave it out"
                )
            with archive.open(info) as member:
                return member.read(MAX_BYTES)  # checks the CRC; never more than the header says
        except _DAMAGED as error:
            if isinstance(error, Unusable):
                raise
            raise Unusable(f"{name!r:.120} cannot be read ({error!s:.120}); fetch it again") from None
        except UserError as error:
            raise Unusable(str(error)) from None

    def json(self, name: str) -> Any:
        """The value of a JSON file. Raises UserError."""
        from vouch.datasets.read.json_rows import finite

        try:
            return json.loads(self.read(name).decode("utf-8-sig"), parse_float=finite)
        except Unusable as error:
            raise UserError(f"{self._where}: {error}") from None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{self._where}: {name}: not JSON ({error!s:.120}); fetch it again") from None

    def rows(self, ending: str, key: str = "") -> Iterator[Row]:
        """The objects of a list in a JSON file, under a key or at the top; null is {}. Raises UserError."""
        name = self.find(ending)
        if name is None:
            there = ", ".join(self.names[:5]) or "nothing"
            raise UserError(f"{self._where}: no file {ending} among its files ({there}); add it")
        value = self.json(name)
        listed = value.get(key) if key and isinstance(value, dict) else value
        if not isinstance(listed, list) or not all(isinstance(values, dict | None) for values in listed):
            raise UserError(f"{self._where}: {name}: not a list of questions; fetch it again")
        for number, values in enumerate(listed):
            yield Row(values or {}, f"{name} question {number + 1}", number, File(name, Path(name)))

    def _add(self, name: str, entry: File | tuple[zipfile.ZipFile, zipfile.ZipInfo]) -> None:
        if name in self._files:
            raise UserError(f"{self._where}: duplicate file {name}; keep one of them")
        self._files[name] = entry
        self._by_end.setdefault(name.rpartition("/")[2], []).append(name)

    def _add_archive(self, file: File) -> None:
        try:
            archive = self.enter_context(zipfile.ZipFile(file.checked()))
            members = archive.infolist()
        except _DAMAGED as error:
            raise UserError(f"{file.path}: not readable as a zip archive ({error}); fetch it again") from None
        if len(members) > MAX_MEMBERS:
            raise UserError(f"{file.path}: more than {MAX_MEMBERS:,} files; unpack it into a folder")
        for info in members:
            name = info.filename.rpartition("/")[2]
            if info.filename.endswith("/") or info.filename.startswith("__MACOSX/"):
                continue  # a folder, which may have no name, or metadata of a file manager
            if name in (".DS_Store", "Thumbs.db"):
                continue
            try:
                check_name(info.filename)
            except ValueError as error:
                raise UserError(f"{file.path}: {error}") from None
            self._add(info.filename, (archive, info))
