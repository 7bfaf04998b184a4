"""Streaming digests: of files while this process writes or reads them, not before or after.

A thread hashes large outputs while they are written: it reads what is there of a file that only grows, and
brings it to the disk. Pictures of a source are hashed by who reads them. A digest holds as long as the file
has the inode, size and times that it had meanwhile.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

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
    """What is on the disk counts from now on."""
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
    """Files of which this process has read other bytes than those that `digests` names by path."""
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
