"""DVC and Snakemake, the two runners, in one checkout: one at a time, and a killed one leaves no trouble.

DVC lists in .dvc/tmp/rwlock, its book, which process reads and writes which files; processes that have ended
do not count. Snakemake enters itself in this book too, because DVC removes the outputs of a stage before it
runs it: meanwhile a DVC that wants to write refuses to, and so does a second Snakemake.
"""

import atexit
import json
import logging
import re
import shutil
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from vouch.pipeline.dag import read_dag
from vouch.pipeline.errors import UserError, meant
from vouch.pipeline.files import alive, replacing, write_text
from vouch.pipeline.records import CONFLICT, LOCK, cut_short, whole_lock
from vouch.pipeline.yaml12 import loads

COPY = Path(".vouch/dvc.lock")
REPLACED = Path(".vouch/dvc.lock.cut")  # in case a person wrote it, without its last line end
BOOK = Path(".dvc/tmp/rwlock")
HOST = Path(".vouch/snakemake-host")  # the machine whose Snakemake worked here last
SNAKEMAKE_LOCKS = Path(".snakemake/locks")
_ROOTS = ("data", "reports")
_held = ExitStack()


def mend() -> None:
    """Repairs files that DVC was writing when it was killed, and says so in one line.

    Promise: nothing that was computed is lost, and one command (`vouch store sync`) is enough. The copy
    of dvc.lock that was kept when the last stage began replaces one that was cut short; receipts tell
    which stages have finished since, and `vouch store sync` then records them. A book that was cut short is
    removed, as its entries end with their processes. Raises UserError if another DVC is at work.
    """
    if LOCK.is_file() and _lost(_read(LOCK)):
        with _dvc_lock():  # DVC writes the file only with this lock: nobody is writing it now
            if LOCK.is_file() and (lost := _lost(data := _read(LOCK))):
                _write(REPLACED, data)
                print(f"{LOCK}: {lost}; {_put_back()}", file=sys.stderr)
    if _book() is None:
        with _dvc_lock("rwlock.lock"):
            if _book() is None:
                BOOK.unlink()
                print(f"{BOOK}: was cut short; DVC begins a new one", file=sys.stderr)
    data = _read(LOCK)
    if whole_lock(data) and CONFLICT not in data and data != _read(COPY):
        _write(COPY, data)


def _lost(data: bytes) -> str:
    """What is wrong with a dvc.lock if DVC was killed while writing it; empty if it is whole.

    If it was cut between two stages, it looks whole, and only its copy has the rest. Stages that the pipeline
    no longer has were removed on purpose; they do not count.
    """
    if cut_short(data):
        return "was cut short"
    copy = _read(COPY)
    if not (len(data) < len(copy) and copy.startswith(data) and whole_lock(copy)):
        return ""
    left, kept = ({*loads(text.decode("utf-8"), str(LOCK)).get("stages", ())} for text in (data, copy))
    return "lacks stages that ran" if kept - left <= read_dag().stages.keys() else ""


def _put_back() -> str:
    if whole_lock(data := _read(COPY)):
        _write(LOCK, data)
        return "its copy of the last run stands in its place, `vouch store sync` records what was made since"
    LOCK.unlink()
    return "the receipts of the stages count, `vouch store sync` records them"


def _book() -> dict[str, Any] | None:
    """DVC's book, empty if there is none; None if it was cut short."""
    try:
        book: dict[str, Any] = json.loads(BOOK.read_bytes())
        return book
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        return None


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _write(path: Path, data: bytes) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def _dvc_lock(name: str = "lock") -> Iterator[None]:
    """Holds one of DVC's own locks. Raises UserError if DVC holds it for some seconds."""
    from dvc.lock import LockError, make_lock

    folder = BOOK.parent
    folder.mkdir(parents=True, exist_ok=True)
    lock = make_lock(str(folder / name), tmp_dir=str(folder), hardlink_lock=_hardlinks())
    try:
        lock.lock()
    except LockError:
        raise UserError("dvc: another DVC is at work here; wait until it ends, then run this again") from None
    try:
        yield
    finally:
        lock.unlock()


def _hardlinks() -> bool:
    """Whether DVC's locks are hard links here."""
    from dvc.config import Config

    return bool(Config(str(BOOK.parents[1].absolute()))["core"].get("hardlink_lock", False))


def enter() -> None:
    """Enters this Snakemake in the book, until `leave` or its end. Raises UserError if a runner is at work.

    Then no other Snakemake of this machine is at work here, so a lock that one left behind is removed;
    otherwise a person would have to use `--unlock`.
    """
    from dvc.fs import localfs
    from dvc.lock import LockError
    from dvc.rwlock import rwlock

    folder = BOOK.parent.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    roots = [str(Path(root).absolute()) for root in _ROOTS]
    try:
        with _dvc_lock():  # DVC holds it between two stages, when its book has no entry
            _held.enter_context(rwlock(str(folder), localfs, "snakemake", [], roots, _hardlinks()))
    except LockError as error:
        who = {line.strip(): None for line in str(error).splitlines() if line.startswith("  (PID")}
        raise _busy(", ".join(who) or str(BOOK)) from None
    atexit.register(leave)
    here = socket.gethostname()
    if HOST.is_file() and HOST.read_text(encoding="utf-8").strip() == here:
        shutil.rmtree(SNAKEMAKE_LOCKS, ignore_errors=True)
    elif not SNAKEMAKE_LOCKS.is_dir() or not any(SNAKEMAKE_LOCKS.iterdir()):
        write_text(HOST, here + "\n")  # otherwise the lock is another machine's, which may be at work


def leave() -> None:
    """Removes the entry that `enter` made."""
    with suppress(AssertionError):  # DVC's, if somebody has deleted the book with the entry
        _held.close()


@contextmanager
def none_at_work() -> Iterator[None]:
    """Raises UserError if a runner is at work; DVC begins no stage within the block.

    For commands that remove outputs. DVC holds its lock except while a stage runs, which its book then lists.
    """
    with _dvc_lock():
        writers = (_book() or {}).get("write")
        for entry in writers.values() if isinstance(writers, dict) else ():
            if alive(entry["pid"]):
                raise _busy(f"(PID {entry['pid']})")
        yield


def _busy(who: str) -> UserError:
    return UserError(
        f"{who}: at work in this checkout; wait until it has ended, then run this again (delete {BOOK} if "
        "that process is something else)"
    )


class _MessageFilter(logging.Filter):
    """Drops Snakemake's messages about its own records, which decide nothing here, and shortens the error
    about an unknown stage or output to one line.

    quiet: whether its header is left out. rules: names of stages, and of all stages of a kind.
    """

    def __init__(self, quiet: bool, rules: Iterable[str]) -> None:
        super().__init__()
        self._quiet, self._rules = quiet, [*rules]

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a message is printed; that of an unknown name is replaced."""
        text = str(record.msg)
        if "provenance/metadata so that it in part cannot be used" in text:
            return False
        if self._quiet and text.startswith(_HEADER):
            return False
        if unknown := _UNKNOWN.search(text):
            kinds = ", ".join(name for name in self._rules if "-" not in name)
            record.msg = (
                f"vouch: no stage or output {unknown[1]}; {meant(unknown[1], self._rules)}kinds of stages: "
                f"{kinds}; `snakemake --list-rules` names each"
            )
        return True


_HEADER = ("Workflow has started!", "Assuming unrestricted shared filesystem", "Building DAG of jobs")
_UNKNOWN = re.compile(r"^MissingRuleException:\s+No rule to produce (\S+) \(")


def shorten_messages(quiet: bool, rules: Iterable[str]) -> None:
    """Lets Snakemake, in whose process this is called, say only what a person needs."""
    logging.getLogger("snakemake.logging").addFilter(_MessageFilter(quiet, rules))
