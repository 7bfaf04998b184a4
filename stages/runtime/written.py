"""Large outputs are hashed and brought to the disk while they are written, not after.

A thread reads what is there of a file that only grows. Its digest counts for the same file as long as size
and modification time are those that it had when all of it was read.
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


def digest_when_written(path: str) -> str | None:
    """The MD5 of a file that this process has written, None of one that it has not, or that changed since."""
    known = _found.get(path)
    return known[1] if known and known[0] == _state(os.stat(path)) else None


def forget(path: str) -> None:
    """What is on the disk counts from now on."""
    _found.pop(path, None)


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
