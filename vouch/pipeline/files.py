"""Writes files so that a half-written one never looks whole (temporary name, fsync, rename); sealed JSON.

Files that no other record covers (receipts, the memory of digests, modes) are sealed: a digest of the values
is stored with them. A file whose seal does not fit counts as missing.

Large outputs are hashed by a thread while they are written: it reads a file as far as it has grown,
and flushes it to the disk. Images of a source are hashed when they are read. A digest holds as long as the
file keeps the inode, size and times that it had then.
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
BEFORE = Path(".vouch/params")  # versions of params.yaml that `vouch use` replaced
UNUSED = Path(".vouch/unused")  # files that no stage makes now; numbered folders, as paths recur
_SEAL = "seal"


def temporary_name(name: str) -> str:
    """The name of a file or folder until it is complete; no other process on any machine uses that name."""
    return f".{name}.{HOST}.{os.getpid()}.part"


def check_plain(path: str | Path) -> None:
    """Raises UserError for a pipe, socket or device, or a link to one: opening it may block for ever,
    and DVC does open it."""
    try:
        mode = os.stat(path).st_mode
    except OSError:  # it is missing, or may not be seen: its reader reports that
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "named pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
        raise UserError(f"{path}: a {kind}, not a plain file; take it away, or put a file in its place")


def _check_replaceable(path: Path) -> None:
    """Raises UserError unless a file may take the place of `path`."""
    check_plain(path)
    if path.is_symlink() and os.readlink(path).startswith("/proc/"):  # /dev/stdout, which may lead to a file
        raise UserError(f"{path}: a stream, not a plain file; name a file")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary path in the same folder; it becomes `path` only if the block succeeds.

    Raises UserError for a device, pipe or socket, such as /dev/null: a file would take its place.
    """
    _check_replaceable(path)
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
    """Like `replacing`, for a folder: yields an empty temporary folder, which then replaces `path`."""
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
    """Moves files to UNUSED, each to its own path below the first numbered folder that has it free; returns
    those that were moved. A file that is gone was moved by another process that does the same."""
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
    """JSON that spells each value in only one way: sorted keys, no NaN, UTF-8 text, final newline."""
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
    """The values in a file; None if it is missing, or changed since it was written."""
    try:
        values = json.loads(path.read_bytes())
        return values if values.pop(_SEAL) == _digest(values) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _digest(values: Mapping[str, Any]) -> str:
    """The digest of values, as JSON gives them back."""
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
    """MD5 of a file that this process wrote or read; None if it did not, or if the file changed since."""
    state, digest = _found.get(path, ((), ""))
    return digest if state and state == _state(os.stat(path))[: len(state)] else None


def forget(path: str) -> None:
    """Drops a file's streamed digest: from now on only the bytes on the disk count."""
    _found.pop(path, None)


def read_file(path: str, size: int) -> bytes:
    """All bytes of a file, hashed on the way. Raises OSError.

    size: the number of bytes, which one call then reads; if it is wrong, reading only takes more calls.
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
    """Files that had another digest, when this process read them, than the one that `digests` gives."""
    return sorted({path for path, digest in _read if digests.get(path, digest) != digest})


@contextmanager
def followed(temporary: Path, path: Path) -> Iterator[None]:
    """Hashes what the block writes into `temporary`, which becomes `path` when the block succeeds."""
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
    with suppress(OSError):  # then the file is read again once it is complete
        whole = False
        while not whole:
            whole = written.wait(_PAUSE)
            while count := os.readv(handle, [chunk]):  # new memory for every read would take as long
                digest.update(memoryview(chunk)[:count])
            os.fsync(handle)
        *state, _ = _state(os.fstat(handle))  # without the time that renaming the file will change
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
        """The bytes kept under a name, or None if they are missing or damaged."""
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
        # not synced: if a crash cuts the file short, its digest reveals it
        temporary = self._root / temporary_name(name)
        temporary.write_bytes(hashlib.sha256(data).digest() + data)
        os.replace(temporary, self._root / name)

    def forget_others(self) -> None:
        """Removes whatever this run neither asked for nor kept: the folder then holds only one run."""
        for path in self._root.glob("*"):
            if path.name not in self._used:
                path.unlink(missing_ok=True)
