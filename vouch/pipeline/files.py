"""Writing so that nothing half-written ever looks whole: temporary name, fsync, rename; and sealed JSON.

Files that no other record covers (receipts, the memory of digests, modes) are sealed: a digest of the values
is stored with them. A file whose seal does not fit counts as missing.

Large outputs are hashed by a thread while they are written: it reads what there is of a file that only grows,
and flushes it to the disk. Images of a source are hashed by their reader. A digest holds as long as the file
has the inode, size and times that it had then.
"""

import filecmp
import hashlib
import itertools
import json
import os
import re
import shutil
import socket
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from vouch.pipeline.errors import UserError

PART = re.compile(r"\..+\.part")  # names of temporary files; nothing counts them as outputs
HOST = f"{zlib.crc32(socket.gethostname().encode()):08x}"  # this machine, among those that share a folder
UNUSED = Path(".vouch/unused")  # what no stage makes any more, in numbered folders: a path may come again
_SEAL = "seal"


def temporary_name(name: str) -> str:
    """This process's name for a file or folder until it is whole; no other process on any machine uses it."""
    return f".{name}.{HOST}.{os.getpid()}.part"


def check_plain(path: str | Path) -> None:
    """Raises UserError for a pipe, a socket or a device, even at the end of a link: opening one may block for
    ever, as it does DVC."""
    try:
        mode = os.stat(path).st_mode
    except OSError:  # nothing is there, or it may not be seen: who reads it says so
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "named pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
        raise UserError(f"{path}: a {kind}, not a plain file; take it away, or put a file in its place")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary path in the same folder; it becomes `path` only if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(temporary_name(path.name))
    try:
        yield temporary
        _sync(temporary)
        os.replace(temporary, path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Like `replacing`, for a folder: an empty temporary folder that takes the place of `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(temporary_name(path.name))
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        for file in temporary.rglob("*"):
            if file.is_file():
                _sync(file)
        if path.exists():
            shutil.rmtree(path)
        os.rename(temporary, path)
        _sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def set_aside(paths: Iterable[str]) -> list[str]:
    """Moves files to UNUSED, each to its own path below the first folder that has none there; returns those
    that were moved. One that is gone has been moved by another process, which does the same."""
    moved = []
    for path in paths:
        for number in itertools.count(1):
            place = UNUSED / str(number) / path
            with suppress(OSError):
                if not filecmp.cmp(path, place, shallow=False):
                    continue
            break
        place.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            shutil.move(path, place)
            moved.append(path)
    return moved


def canonical_json(value: Any) -> str:
    """JSON with one spelling for one value: sorted keys, no NaN, UTF-8 text, final newline."""
    return json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 text with `\\n` line ends, atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """Writes `value` as canonical JSON, atomically."""
    write_text(path, canonical_json(value))


def file_digest(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with their seal, to be written as JSON."""
    as_read = json.loads(json.dumps(values))  # keys that are no strings become strings before they are sorted
    return {**values, _SEAL: _digest(as_read)}


def unsealed(path: Path) -> dict[str, Any] | None:
    """The values in a file; None where it is missing, or not as it was written."""
    try:
        values = json.loads(path.read_bytes())
        return values if values.pop(_SEAL) == _digest(values) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _digest(values: Mapping[str, Any]) -> str:
    """Of values as JSON gives them back."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def alive(pid: int) -> bool:
    """Whether a process of this machine has this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def abandoned(name: str) -> bool:
    """Whether a temporary file or folder is named after a process of this machine that has ended."""
    match = re.search(rf"\.{HOST}\.(\d{{1,9}})\.part$", name)
    return match is not None and not alive(int(match[1]))


_CHUNK = 1 << 20
_PAUSE = 0.5  # seconds
_State = tuple[int, ...]
_Known = tuple[_State, str]
_found: dict[str, _Known] = {}
_read: set[tuple[str, str]] = set()


def streamed_digest(path: str) -> str | None:
    """The MD5 of a file that this process has written or read; None where it did not, or it changed since."""
    state, digest = _found.get(path, ((), ""))
    return digest if state and state == _state(os.stat(path))[: len(state)] else None


def forget(path: str) -> None:
    """Drops the digest of what was streamed: from now on only the bytes on the disk count."""
    _found.pop(path, None)


def read_file(path: str, size: int) -> bytes:
    """All bytes of a file, hashed on the way. Raises OSError.

    size: how many they are, so that one call reads them; if it is wrong, it only takes more calls.
    """
    with open(path, "rb", buffering=0) as file:
        before = _state(os.fstat(file.fileno()))
        data = file.read(size + 1)
        if len(data) != size:
            data += file.read()
        digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
        _read.add((path, digest))
        if before == _state(os.fstat(file.fileno())):
            _found[path] = (before, digest)
    return data


def read_otherwise(digests: Mapping[str, str]) -> list[str]:
    """Files from which this process has read bytes other than those that `digests` gives by path."""
    return sorted({path for path, digest in _read if digests.get(path, digest) != digest})


@contextmanager
def followed(temporary: Path, path: Path) -> Iterator[None]:
    """Follows what the block writes into `temporary`, which becomes `path` when the block succeeds."""
    forget(str(path))
    handle = os.open(temporary, os.O_RDONLY | os.O_CREAT, 0o666)
    found: list[_Known] = []
    written = Event()
    thread = Thread(target=_follow, args=(handle, written, found), name="vouch-written")
    thread.start()
    try:
        yield
    finally:
        written.set()
        thread.join()
        os.close(handle)
    _found.update({str(path): known for known in found})


def _follow(handle: int, written: Event, found: list[_Known]) -> None:
    digest, chunk = hashlib.md5(usedforsecurity=False), bytearray(_CHUNK)
    with suppress(OSError):  # the file is then read again when all of it is there
        whole = False
        while not whole:
            whole = written.wait(_PAUSE)
            while count := os.readv(handle, [chunk]):  # new memory for each would cost as much as reading
                digest.update(memoryview(chunk)[:count])
            os.fsync(handle)
        *state, _ = _state(os.fstat(handle))  # its new name changes its status
        found.append((tuple(state), digest.hexdigest()))


def _state(status: os.stat_result) -> _State:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


_DIGEST = hashlib.sha256().digest_size


class ResultCache:
    """Bytes by a digest of everything they depend on: contents, code, parameters, versions.

    A file whose contents changed after it was written counts as missing.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._used: set[str] = set()

    def get(self, name: str) -> bytes | None:
        """What was kept under a name, None where there is nothing whole."""
        self._used.add(name)
        try:
            whole = (self._root / name).read_bytes()
        except OSError:
            return None
        held = whole[_DIGEST:]
        return held if hashlib.sha256(held).digest() == whole[:_DIGEST] else None

    def put(self, name: str, data: bytes) -> None:
        """Keeps bytes under a name."""
        self._used.add(name)
        self._root.mkdir(parents=True, exist_ok=True)
        # not synced: a file that a crash cuts short is found out by its digest
        temporary = self._root / temporary_name(name)
        temporary.write_bytes(hashlib.sha256(data).digest() + data)
        os.replace(temporary, self._root / name)

    def forget_others(self) -> None:
        """Removes all that was neither asked for nor kept, so that the folder holds only one run."""
        for path in self._root.glob("*"):
            if path.name not in self._used:
                path.unlink(missing_ok=True)
