"""Writing so that nothing half-written ever looks whole: temporary name, fsync, rename; and sealed JSON.

What no other record covers (receipts, the memory of digests, modes) is sealed: a digest of the values stands
beside them. A file whose seal does not fit counts as one that is not there.
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
from typing import Any

from vouch.pipeline.errors import UserError

PART = re.compile(r"\..+\.part")  # names of temporary files; nothing counts them as outputs
HOST = f"{zlib.crc32(socket.gethostname().encode()):08x}"  # this machine, among those that share a folder
UNUSED = Path(".vouch/unused")  # what no stage makes any more, in numbered folders: a path may come again
_SEAL = "seal"


def temporary_name(name: str) -> str:
    """What this process calls a file or folder until it is whole; no other process does, on no machine."""
    return f".{name}.{HOST}.{os.getpid()}.part"


def check_plain(path: str | Path) -> None:
    """Raises UserError for a pipe, a socket or a device, also at the end of a link: whoever opens one may
    wait without end, as DVC does."""
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
