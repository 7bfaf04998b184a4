"""Digests taken in passing: of files while this process writes or reads them, not before or after.

A thread hashes large outputs while they are written: it reads what is there of a file that only grows, and
brings it to the disk. Pictures of a source are hashed by who reads them. A digest holds as long as the file
has the inode, size and modification time that it had meanwhile.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

_CHUNK = 1 << 20
_PAUSE = 0.5  # seconds
_State = tuple[int, int, int]
_Known = tuple[_State, str]
_found: dict[str, _Known] = {}


def digest_in_passing(path: str) -> str | None:
    """The MD5 of a file that this process has written or read, None of one that changed since, or another."""
    known = _found.get(path)
    return known[1] if known and known[0] == _state(os.stat(path)) else None


def forget(path: str) -> None:
    """What is on the disk counts from now on."""
    _found.pop(path, None)


def read_file(path: str, size: int) -> bytes:
    """All bytes of a file, which is hashed. size: that it has, so that one call reads it. Raises OSError."""
    with open(path, "rb", buffering=0) as file:
        before = _state(os.fstat(file.fileno()))
        data = file.read(size + 1)
        if len(data) != size:
            data += file.read()
        digest = hashlib.md5(data, usedforsecurity=False)
        if before == _state(os.fstat(file.fileno())):
            _found[path] = (before, digest.hexdigest())
    return data


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
        found.append((_state(os.fstat(handle)), digest.hexdigest()))


def _state(status: os.stat_result) -> _State:
    return status.st_ino, status.st_size, status.st_mtime_ns
