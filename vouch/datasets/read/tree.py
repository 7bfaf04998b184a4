"""The files of a dataset by name, those inside its zip archives included. Nothing is ever unpacked."""

import json
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from vouch.datasets.fetch.origin import check_name
from vouch.datasets.raw import Unusable
from vouch.datasets.read.files import File, Source, is_trap
from vouch.datasets.read.json_line import finite
from vouch.datasets.read.row import Row
from vouch.pipeline.errors import UserError

MAX_MEMBERS = 2_000_000
MAX_BYTES = 1 << 30  # of one file that is read whole
MAX_PICTURE = MAX_JSON = 1 << 28  # bytes of a picture; of JSON, which takes several times as much in memory
_ZIP = ".zip"
# What Python's readers of archives raise on damaged ones.
_DAMAGED = (
    *(OSError, ValueError, EOFError, NotImplementedError, RuntimeError, OverflowError, struct.error),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


class Tree(ExitStack):
    """Names are paths below the folder, the repository or the archive. Use it in a `with` block.

    Raises UserError for an archive that is damaged, or that holds a name which would lead out of its folder.
    """

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._where = source.path
        self._places: dict[str, File | tuple[zipfile.ZipFile, zipfile.ZipInfo]] = {}
        self._by_end: dict[str, list[str]] = {}
        try:
            for file in source.files:
                if file.name.lower().endswith(_ZIP):
                    self._add_archive(file)
                else:
                    self._add(file.name, file)
        except BaseException:
            self.close()
            raise

    def __contains__(self, name: str) -> bool:
        return name in self._places

    @property
    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._places)

    def find(self, ending: str) -> str | None:
        """The one name that is `ending` or ends with it after a slash, null for none. Raises UserError."""
        found = self._ending(ending)
        if len(found) > 1:
            raise UserError(f"{self._where}: {ending} is there twice, as {found[0]} and {found[1]}; keep one")
        return found[0] if found else None

    def _ending(self, ending: str) -> list[str]:
        same = self._by_end.get(ending.rpartition("/")[2], ())
        return [name for name in same if name == ending or name.endswith(f"/{ending}")]

    def needed(self, ending: str) -> str:
        """Like `find`. Raises UserError where there is none."""
        name = self.find(ending)
        if name is None:
            there = ", ".join(self.names[:5]) or "nothing"
            raise UserError(f"{self._where}: no file {ending} among what it holds ({there}); add it")
        return name

    def closest(self, path: str, least: int = 1) -> str:
        """The name at the longest end of a path that names a file, as the path was on the authors' machine.

        least: parts of the path that must agree. Raises Unusable where none does, or several do.
        """
        parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        for first in range(max(1, len(parts) - least + 1)):
            found = self._ending("/".join(parts[first:]))
            if len(found) == 1:
                return found[0]
        raise Unusable(f"no file {path!r:.120} in {self._where}")

    def picture(self, name: str) -> bytes:
        """The bytes of a picture. Raises Unusable."""
        return self.read(name, MAX_PICTURE)

    def read(self, name: str, most: int = MAX_BYTES) -> bytes:
        """The bytes of a file, so many at most. Raises Unusable."""
        place = self._places.get(name)
        if place is None:
            raise Unusable(f"no file {name!r:.120} in {self._where}")
        try:
            if isinstance(place, File):
                path = place.checked()
                if path.stat().st_size > most:
                    raise Unusable(f"{name!r:.120} is larger than {most:,} bytes")
                return path.read_bytes()
            archive, info = place
            if info.file_size > most or stat.S_ISLNK(info.external_attr >> 16) or info.flag_bits & 1:
                raise Unusable(f"{name!r:.120} is too large, a link or encrypted in its archive")
            if is_trap(info.file_size, info.compress_size):
                raise Unusable(
                    f"{name!r:.120} is {info.compress_size:,} bytes in its archive and would become "
                    f"{info.file_size:,}, as only a trap does; leave it out"
                )
            with archive.open(info) as member:
                return member.read(most)  # checks the CRC; never more than the header says
        except _DAMAGED as error:
            if isinstance(error, Unusable):
                raise
            raise Unusable(f"{name!r:.120} cannot be read ({error!s:.120}); fetch it again") from None
        except UserError as error:
            raise Unusable(str(error)) from None

    def json(self, name: str) -> Any:
        """The value of a JSON file. Raises UserError."""
        try:
            return json.loads(self.read(name, MAX_JSON).decode("utf-8-sig"), parse_float=finite)
        except Unusable as error:
            raise UserError(f"{self._where}: {error}") from None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{self._where}: {name}: not JSON ({error!s:.120}); fetch it again") from None

    def rows(self, ending: str, key: str = "") -> Iterator[Row]:
        """The objects that a JSON file lists, under a key or alone; null is empty. Raises UserError."""
        name = self.needed(ending)
        value = self.json(name)
        listed = value.get(key) if key and isinstance(value, dict) else value
        if not isinstance(listed, list) or not all(isinstance(one, dict | None) for one in listed):
            raise UserError(f"{self._where}: {name}: holds no list of questions; fetch it again")
        for number, values in enumerate(listed):
            yield Row(values or {}, f"{name} question {number + 1}", number, File(name, Path(name)))

    def _add(self, name: str, place: Any) -> None:
        if name in self._places:
            raise UserError(f"{self._where}: {name} is there twice; keep one of them")
        self._places[name] = place
        self._by_end.setdefault(name.rpartition("/")[2], []).append(name)

    def _add_archive(self, file: File) -> None:
        try:
            archive = self.enter_context(zipfile.ZipFile(file.checked()))
            members = archive.infolist()
        except _DAMAGED as error:
            raise UserError(
                f"{file.path}: not a zip archive that can be read ({error}); fetch it again"
            ) from None
        if len(members) > MAX_MEMBERS:
            raise UserError(f"{file.path}: more than {MAX_MEMBERS:,} files; take them out into a folder")
        for info in members:
            if info.filename.endswith("/") or _noise(info.filename):  # a folder, even one without a name
                continue
            try:
                check_name(info.filename)
            except ValueError as error:
                raise UserError(f"{file.path}: {error}") from None
            self._add(info.filename, (archive, info))


def _noise(name: str) -> bool:
    """Whether a member is what file managers leave behind."""
    return name.startswith("__MACOSX/") or name.rpartition("/")[2] in (".DS_Store", "Thumbs.db")
