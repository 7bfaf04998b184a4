"""A runner in a session of its own, what it has started, and what its stage has written so far."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import psutil

from tests.checkouts.checkout import Checkout
from vouch.pipeline.dag import Stage
from vouch.pipeline.files import PART
from vouch.pipeline.records import LOCK, receipt_path

LIMIT = 600.0  # seconds for one command
_POLL = 0.002


class Runner:
    """A running `dvc repro` or `snakemake`."""

    def __init__(self, checkout: Checkout, command: Sequence[str], log: Path) -> None:
        self._log: IO[bytes] = log.open("wb")
        self.process = subprocess.Popen(
            command,
            cwd=checkout.path,
            env=checkout.env,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        self.log = log
        self.deadline = time.monotonic() + LIMIT

    def members(self) -> dict[int, list[str]]:
        """Live processes of its session -> their command lines."""
        found = {}
        for pid in psutil.pids():
            with suppress(psutil.Error, ProcessLookupError):  # it has ended
                one = psutil.Process(pid)
                if os.getsid(pid) == self.process.pid and one.status() != psutil.STATUS_ZOMBIE:
                    found[pid] = one.cmdline()
        return found

    def stage(self, stage: Stage) -> int | None:
        """The process of a stage."""
        words = stage.cmd.split()[1:]
        for pid, line in self.members().items():
            if line and "python" in Path(line[0]).name and line[1 : 1 + len(words)] == words:
                return pid
        return None

    def kill(self, victim: str, stage: Stage) -> bool:
        """SIGKILL; whether what it was meant for was alive."""
        everyone = self.members()
        targets = {
            "runner": [pid for pid in (self.process.pid,) if pid in everyone],
            "stage": [pid for pid in (self.stage(stage),) if pid],
            "group": list(everyone),
        }[victim]
        for pid in targets:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if victim != "stage":
            self.process.wait(30)
        return bool(targets)

    def wait(self) -> int:
        """Its exit status, when it has ended and nothing of its session is left; ended after the limit."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(max(1.0, self.deadline - time.monotonic()))
        self.settle()
        return self.process.wait(30)

    def settle(self) -> None:
        """Waits for what it left running; ends it after the limit."""
        while self.members() and time.monotonic() < self.deadline:
            time.sleep(0.05)
        for pid in self.members():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._log.close()

    def said(self) -> str:
        """What it and its stages printed."""
        return self.log.read_text("utf-8", "replace")


def end_within(place: Path) -> None:
    """Ends runners and stages of checkouts in a folder, by their environment: a shell there is not one."""
    deadline = time.monotonic() + 30
    while (found := list(_within(place))) and time.monotonic() < deadline:
        for one in found:
            with suppress(psutil.Error):
                one.kill()
        time.sleep(0.05)


def _within(place: Path) -> Iterator[psutil.Process]:
    for one in psutil.process_iter():
        with suppress(psutil.Error):  # it has ended, or is another user's
            if one.environ().get("PYTHONPATH", "").startswith(f"{place}/"):  # of Checkout.env
                yield one


class Watch:
    """New files of a stage, temporary ones too; and when DVC begins to write dvc.lock."""

    def __init__(self, checkout: Checkout, stage: Stage) -> None:
        places = [checkout.path / out for out in stage.outs]
        self._folders = {place.parent for place in places}
        self._work = checkout.path / ".vouch/work" if stage.name.startswith("extract") else None
        self.receipt = checkout.path / receipt_path(stage)
        self._lock = checkout.path / LOCK
        self._size = self._lock.stat().st_size
        self._seen: set[str] = set()
        self._before = self._now()

    def _now(self) -> set[str]:
        found: set[str] = set()
        for folder in self._folders:
            found |= _names(folder)
        if self._work and self._work.is_dir():
            found |= {str(path) for path in self._work.rglob("*") if path.is_file()}
        return found

    def count(self) -> int:
        """How many new files there were up to now."""
        self._seen |= self._now() - self._before
        return len(self._seen)

    def lock_is_being_written(self) -> bool:
        """Whether dvc.lock is shorter than it was: DVC empties it first."""
        return self._lock.stat().st_size < self._size


def _names(folder: Path) -> set[str]:
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return set()
    found = {entry.path for entry in entries}
    for entry in entries:
        if PART.fullmatch(entry.name) and entry.is_dir():
            found |= _names(Path(entry.path))
    return found


def wait_for(runner: Runner, watch: Watch, stage: Stage, event: str, nth: int) -> bool:
    """Waits for an event of a stage; False where the runner ended before."""
    while time.monotonic() < runner.deadline:
        happened = {
            "begun": lambda: runner.stage(stage) is not None,
            "file": lambda: watch.count() >= nth,
            "receipt": watch.receipt.exists,
            "lock": watch.lock_is_being_written,
        }[event]()
        if happened:
            return True
        if runner.process.poll() is not None:
            return False
        time.sleep(_POLL if event != "begun" else 0.02)
    return False
