"""One engine at a time in a checkout, and no lock that outlives its engine.

DVC keeps in .dvc/tmp/rwlock which process reads and writes what, and passes over processes that have
ended. Snakemake signs in there too: a DVC that would write refuses meanwhile, and so does a second
Snakemake. Once it has signed in, no other Snakemake of this machine is at work here, so that a lock of
Snakemake's own that such a one left behind is a dead one's.
"""

import atexit
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from vouch.pipeline.errors import UserError
from vouch.pipeline.files import write_text
from vouch.pipeline.mending import BOOK, as_dvc_locks, at_work
from vouch.pipeline.processes import exists

HOST = Path(".vouch/snakemake-host")  # the machine whose Snakemake worked here last
LOCKS = Path(".snakemake/locks")
_ROOTS = ("data", "reports")
_held = ExitStack()


def enter() -> None:
    """Claims data/ and reports/ for this process, until `leave` or its end. Raises UserError where taken."""
    from dvc.config import Config
    from dvc.fs import localfs
    from dvc.lock import LockError
    from dvc.rwlock import rwlock

    folder = BOOK.parent.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    roots = [str(Path(root).absolute()) for root in _ROOTS]
    hardlink = Config(str(folder.parent))["core"].get("hardlink_lock", False)
    try:
        _held.enter_context(rwlock(str(folder), localfs, "snakemake", [], roots, hardlink))
    except LockError as error:
        who = {line.strip(): None for line in str(error).splitlines() if line.startswith("  (PID")}
        raise _busy(", ".join(who) or str(BOOK)) from None
    atexit.register(leave)
    _drop_dead_lock()


def leave() -> None:
    """Gives up what this process claimed."""
    with suppress(AssertionError):  # somebody has deleted the book: DVC misses the claim in it
        _held.close()


@contextmanager
def none_at_work() -> Iterator[None]:
    """Raises UserError where an engine is at work; DVC begins no stage within the block.

    DVC has its lock whenever it runs no stage, and stands in its book whenever it does.
    """
    with as_dvc_locks():
        if busy := sorted(filter(exists, at_work())):
            raise _busy(f"(PID {busy[0]})")
        yield


def _busy(who: str) -> UserError:
    return UserError(
        f"{who}: at work in this checkout; wait until it has ended, then run this again (delete {BOOK} if "
        "that process is something else)"
    )


def _drop_dead_lock() -> None:
    """Removes the lock of a Snakemake that was killed on this machine. Those of others stay: `--unlock`."""
    here = socket.gethostname()
    if HOST.is_file() and HOST.read_text(encoding="utf-8").strip() == here:
        shutil.rmtree(LOCKS, ignore_errors=True)
    elif not LOCKS.is_dir() or not any(LOCKS.iterdir()):
        write_text(HOST, here + "\n")
