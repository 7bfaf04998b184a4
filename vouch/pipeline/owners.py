"""Who has a lock, said by a numbered file beside it: for file systems without flock.

The file is made with O_EXCL, which all of them do atomically. Its name ends in a number that only grows:
LOCK.7 belongs to who made it, until it says `free` or its owner is dead; then LOCK.8 is the next. So nobody
deletes a lock that another has just taken over.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from vouch.pipeline.processes import gone, seen

BEAT_SECONDS = 10.0  # how often an owner's file says that it is alive
LOST_SECONDS = 150.0  # an owner that could not say so for this long stops itself
SILENT_SECONDS = 300.0  # and, seen from another machine, is dead after this long
_FREE = "free"


@dataclass(frozen=True)
class _Process:
    """A process as its machine knows it. kernel: this boot and its process numbers; empty where unknown.

    started: its start, so that a number given again is another process.
    """

    host: str
    kernel: str
    pid: int
    started: int | None
    token: str

    @property
    def gone(self) -> bool:
        """Whether it is certain that it ended: only of a process under the same kernel."""
        if not self.kernel or self.kernel != kernel():
            return False
        return gone(self.pid, self.started)


def kernel() -> str:
    """Names the running kernel and the process numbers in use (containers have their own)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


class Owner:
    """A process that has, or wants, the lock that a path names. other: who was seen to have it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        token = uuid.uuid4().hex
        me = seen(os.getpid())
        self._me = _Process(socket.gethostname(), kernel(), os.getpid(), me.started if me else None, token)
        self._mine: Path | None = None
        self._seen: tuple[int, int] | None = None  # of the other's file: number and time of its last beat
        self._since = 0.0
        self._ended = threading.Event()
        self.other = ""

    def taken(self) -> bool:
        """Whether somebody has the lock by a file."""
        return self._last_free() is None

    def attempt(self) -> bool:
        """Takes the lock if it is free or its owner dead."""
        number = self._last_free()
        if number is None:
            return False
        mine = self._file(number + 1)
        try:
            made = os.open(mine, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            return False
        with os.fdopen(made, "w", encoding="utf-8") as handle:
            json.dump(asdict(self._me), handle)
            handle.flush()
            os.fsync(handle.fileno())
        if self._newest() != number + 1:  # the lock went on while this process slept
            mine.unlink(missing_ok=True)
            return False
        for older in self._numbers():
            if older <= number:
                self._file(older).unlink(missing_ok=True)
        self._mine = mine
        threading.Thread(target=self._beat, args=(mine,), daemon=True).start()
        return True

    def release(self) -> None:
        """Gives the lock back."""
        self._ended.set()
        if self._mine is not None and self._holds(self._mine):
            self._mine.write_text(_FREE, encoding="utf-8")

    def _file(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _numbers(self) -> list[int]:
        endings = (name.rpartition(".") for name in os.listdir(self._path.parent))
        return [int(end) for stem, _, end in endings if stem == self._path.name and end.isdecimal()]

    def _newest(self) -> int:
        return max(self._numbers(), default=0)

    def _last_free(self) -> int | None:
        """The newest number, 0 before the first; None where it is somebody's."""
        number = self._newest()
        return number if number == 0 or self._available(number) else None

    def _available(self, number: int) -> bool:
        """Whether a lock file stands for nobody any more."""
        try:
            with self._file(number).open(encoding="utf-8") as handle:  # opening asks a file server anew
                text = handle.read()
                beat = os.fstat(handle.fileno()).st_mtime_ns
        except FileNotFoundError:
            return False  # it went on just now
        if text == _FREE:
            return True
        now = time.monotonic()
        if self._seen != (number, beat):
            self._seen, self._since = (number, beat), now
        if now - self._since >= SILENT_SECONDS:
            return True
        try:
            owner = _Process(**json.loads(text))
        except (ValueError, TypeError):
            return False  # being written
        silent = f", silent for {now - self._since:.0f} s" if now - self._since > 2 * BEAT_SECONDS else ""
        self.other = f"process {owner.pid} on {owner.host}{silent}"
        return owner.gone

    def _holds(self, mine: Path) -> bool:
        try:
            return self._me.token in mine.read_text(encoding="utf-8")
        except FileNotFoundError:
            return False

    def _beat(self, mine: Path) -> None:
        """Says that this process is alive; stops it where nobody can hear that, or the lock went on."""
        heard = _now()
        while not self._ended.wait(BEAT_SECONDS):
            try:
                holds = self._holds(mine)
                if holds:
                    os.utime(mine)
                    heard = _now()
            except OSError:
                holds = True  # the file system is away: wait for it, for a while
            if self._ended.is_set():
                return
            if not holds or _now() - heard > LOST_SECONDS:
                print(f"vouch: {mine}: the lock was lost; this run stops", file=sys.stderr)
                os.kill(os.getpid(), signal.SIGTERM)
                return


def _now() -> float:
    """Seconds, those asleep counted in where the machine can tell."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
