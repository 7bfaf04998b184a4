"""What DVC writes in place, and leaves cut short where it is killed meanwhile: dvc.lock, and who is at work.

Every stage keeps a copy of dvc.lock before it starts; what stages have finished since is in their receipts
and in DVC's cache of runs. DVC's book of who is at work (rwlock) holds nothing that outlives its processes.
Both are put right under the locks under which DVC writes them, so that no DVC is writing them then.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vouch.pipeline.files import replacing
from vouch.pipeline.locks import claimed

LOCK = Path("dvc.lock")
COPY = Path(".vouch/dvc.lock")
REPLACED = Path(".vouch/dvc.lock.cut")  # for a person who wrote one without its last line end
BOOK = Path(".dvc/tmp/rwlock")
PATIENCE_SECONDS = 60.0
_OF_LOCK, _OF_BOOK = Path(".dvc/tmp/lock"), Path(".dvc/tmp/rwlock.lock")
_CONFLICT = b"<<<<<<< "
_HEAD = b"schema:"


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def keep() -> None:
    """Copies dvc.lock where it is whole and the copy is another."""
    data = _read(LOCK)
    if _whole(data) and _CONFLICT not in data and data != _read(COPY):
        _write(COPY, data)


def mend(since_copy: bool = False, tell: Callable[[str], None] = _say) -> None:
    """Puts the copy in the place of a dvc.lock that was cut short, and removes a book that was.

    since_copy: since the copy was kept, nobody but one engine has written dvc.lock; see `_lost_stages`.
    Raises UserError where DVC has been at work for a minute.
    """
    _mend(lambda: _wrong(since_copy), _OF_LOCK, LOCK, _put_back, tell)
    _mend(lambda: _read_book() is None, _OF_BOOK, BOOK, _remove_book, tell)


def _mend(
    wrong: Callable[[], bool],
    lock: Path,
    file: Path,
    put_right: Callable[[], str],
    tell: Callable[[str], None],
) -> None:
    if wrong():
        with as_dvc_locks(lock, file):
            if wrong():
                tell(f"{file}: was cut short; {put_right()}")


@contextmanager
def as_dvc_locks(lock: Path = _OF_LOCK, file: Path = LOCK) -> Iterator[None]:
    """Holds a lock under which DVC writes a file. Raises UserError where DVC has it for a minute.

    Leaves no file where none was: with core.hardlink_lock such a file is held.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        lock.touch(exist_ok=False)
        made = True
    except FileExistsError:
        made = False
    with claimed(lock, PATIENCE_SECONDS, str(file), "at work with DVC"):
        try:
            yield
        finally:
            if made:
                lock.unlink(missing_ok=True)


def at_work() -> set[int]:
    """Processes that have signed in DVC's book as writing something."""
    try:
        return {entry["pid"] for entry in (_read_book() or {})["write"].values()}
    except (AttributeError, KeyError, TypeError):
        return set()


def _wrong(since_copy: bool) -> bool:
    """Whether dvc.lock was cut short; one with a merge conflict was not, nor one that is not there."""
    data = _read(LOCK)
    if not LOCK.is_file() or _CONFLICT in data:
        return False
    return _cut_short(data) or (since_copy and _lost_stages(data, _read(COPY)))


def _whole(data: bytes) -> bool:
    """Whether a dvc.lock begins and ends as DVC begins and ends one."""
    return data.startswith(_HEAD) and data.endswith(b"\n") and not data.endswith(b":\n")


def _cut_short(data: bytes) -> bool:
    """Whether DVC began a dvc.lock that it would refuse: the last line is cut, or lacks what is under it.

    One that begins otherwise is somebody's own: DVC or `read_lock` says what is wrong with it.
    """
    return _HEAD.startswith(data.rstrip(b"\0")[: len(_HEAD)]) and not _whole(data)


def _lost_stages(data: bytes, before: bytes) -> bool:
    """Whether a dvc.lock was cut between two lines, and has only the first stages of before.

    An engine takes none out, and adds new ones at the end.
    """
    names, others = (list(filter(_is_name, lines.splitlines())) for lines in (data, before))
    return len(names) < len(others) and names == others[: len(names)]


def _is_name(line: bytes) -> bool:
    """Whether a line begins a stage: among them DVC writes nothing else at this depth."""
    return line[:2] == b"  " and line[2:3] not in b" -"


def _put_back() -> str:
    _write(REPLACED, _read(LOCK))
    if _whole(data := _read(COPY)):
        _write(LOCK, data)
        return "its copy of the last run stands in its place"
    LOCK.unlink()
    return "the receipts of the stages count alone"


def _read_book() -> dict[str, Any] | None:
    """DVC's book, empty where there is none; None where it was cut short."""
    try:
        book: dict[str, Any] = json.loads(BOOK.read_bytes())
        return book
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        return None


def _remove_book() -> str:
    BOOK.unlink()
    return "DVC begins a new one"


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _write(path: Path, data: bytes) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(data)
