"""One process at a time: locks that end with their process, also where a file system has no flock.

flock is the lock where it works. NFS without its lock service, Lustre mounted without `flock` and some
FUSE file systems refuse it; there the owner is a file beside the lock's (vouch/pipeline/owners.py).
"""

import errno
import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from vouch.pipeline.errors import UserError
from vouch.pipeline.owners import Owner

_POLL_SECONDS = 0.5
_REFUSED = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


class Busy(Exception):
    """Another process has the lock. Says which one, where that is known."""


@contextmanager
def locked(path: Path, patience: float, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Holds the lock that a path names. waiting: called once where another process has it.

    Raises Busy after `patience` seconds, with 0 at once.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as handle:
        owner = Owner(path)
        by_flock = _acquire(handle, owner, patience, waiting)
        try:
            yield
        finally:
            if not by_flock:
                owner.release()


@contextmanager
def claimed(
    path: Path, patience: float, what: str, doing: str, waiting: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """`locked`, for what a person waits for: raises UserError after `patience` seconds.

    what, doing: as in "WHAT: another run has been DOING for 5 s".
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(path, patience, waiting))
        except Busy as busy:
            who = f" ({busy})" if str(busy) else ""
            raise UserError(
                f"{what}: another run{who} has been {doing} for {patience:.0f} s; wait until it ends, or "
                "stop it, then run the same command again"
            ) from None
        yield


def _acquire(handle: TextIO, owner: Owner, patience: float, waiting: Callable[[], None]) -> bool:
    """Waits for the lock; whether flock gave it."""
    deadline = time.monotonic() + patience
    told = False
    while True:
        by_flock = _flock(handle)
        if by_flock and owner.taken():  # by a machine that mounts the same folder without flock
            fcntl.flock(handle, fcntl.LOCK_UN)
            by_flock = False
        if by_flock or (by_flock is None and owner.attempt()):
            return bool(by_flock)
        if time.monotonic() >= deadline:
            raise Busy(owner.other)
        if not told:
            waiting()
            told = True
        time.sleep(min(_POLL_SECONDS, patience))


def _flock(handle: TextIO) -> bool | None:
    """Whether flock gave the lock, None where the file system has none."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _REFUSED:
            return None
        raise
