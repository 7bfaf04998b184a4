"""The files of a dataset as a loader sees them, wherever they lie."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, AnyStr

from vouch.datasets.fetch.origin import Origin
from vouch.pipeline.dag import left_out
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import check_plain

UNSEEN = ".dvcignore leaves out {}, so changes would go unseen; give it another name"
LONGEST_LINE = 1 << 26  # characters of a line of text
_MOST_PACKED = 200  # bytes that one byte of a file becomes; texts and pictures stay far below
_SMALL = 1 << 20  # bytes that may be packed as tightly as they can be


def is_trap(unpacked: int, packed: int) -> bool:
    """Whether so few bytes of a file become so many that only a trap does it."""
    return unpacked > max(_SMALL, _MOST_PACKED * packed)


@dataclass(frozen=True)
class File:
    """name: in its repository, or of the address. path: on this machine.

    root: the folder that a file of one's own may not lead out of; null for one that was fetched.
    """

    name: str
    path: Path
    root: Path | None = None

    def checked(self) -> Path:
        """The path, once it is sure that it is watched: no link leads out of `root`, and no name is left out.

        Raises UserError.
        """
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
    """The lines of an open file. Raises UserError for one without end, which would fill memory."""
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
class Source:
    """Where a loader reads. path: `datasets.NAME.source`. chosen: what `origin` chose, in its order.

    revision: the commit that was fetched, null where none was.
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
        """What `origin` chose, or every file of the folder, sorted; links to folders are not followed."""
        return tuple(walk(self.path)) if self.chosen is None else self.chosen

    def has(self, *suffixes: str) -> bool:
        """Whether a file's name has one of these endings."""
        return any(file.name.lower().endswith(suffixes) for file in self.files)

    def ending(self, *suffixes: str) -> tuple[File, ...]:
        """The files whose names have one of these endings. Raises UserError where there is none."""
        found = tuple(file for file in self.files if file.name.lower().endswith(suffixes))
        if not found:
            there = ", ".join(file.name for file in self.files[:5]) or "nothing"
            raise UserError(
                f"{self.path}: no file {' or '.join('*' + suffix for suffix in suffixes)} among what it "
                f"holds ({there}); correct `source` or `origin` of this dataset"
            )
        return found


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
