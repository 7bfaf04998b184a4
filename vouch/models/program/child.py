"""A driver as a child process: started, written to, read from with limits, and ended with all that it
started.

Requests go to its standard input, answers come from a descriptor of their own, because the code of models
prints. Between Vouch and the driver stands guard.py, which ends the driver when this process ends, even by
kill -9. The driver's folder (temporary files, caches, images) is below SCRATCH and is removed with it.
"""

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vouch.models.program import guard
from vouch.models.program.protocol import LONGEST, Broken, parsed
from vouch.pipeline.errors import UserError, hidden
from vouch.pipeline.processor import SETTINGS

SCRATCH = Path(".vouch/programs")
_CHUNK = 1 << 16
_PASSED = (
    *("PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES"),
    *("CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", *SETTINGS),
)
_SET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "PYTHONUNBUFFERED": "1",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
}


class Died(Exception):
    """The driver ended, or was silent for too long. The message says how."""


@dataclass(frozen=True)
class Limits:
    """start: seconds in which a driver has to be ready. silence: between two lines of one that owes an
    answer. memory: bytes of all its processes."""

    start: float = 1800.0
    silence: float = 600.0
    memory: int = 1 << 62

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Limits":
        """Those that variables give, else the usual ones. Raises UserError."""
        values = {}
        for name, field, scale in (
            ("VOUCH_PROGRAM_START", "start", 1),
            ("VOUCH_PROGRAM_SILENCE", "silence", 1),
            ("VOUCH_PROGRAM_GIGABYTES", "memory", 1 << 30),
        ):
            text = environment.get(name)
            if text is None:
                continue
            try:
                value = float(text)
            except ValueError:
                value = 0.0
            if not 0 < value < 1e9:
                raise UserError(f"{name}={text:.40}: is no positive number; correct it or leave it out")
            values[field] = value * scale
        memory = int(values.pop("memory", 0)) or _most_memory()
        return cls(memory=memory, **values)


def _most_memory() -> int:
    """Nine tenths of this machine's memory, or of this container's."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    except (ValueError, OSError):
        return 1 << 62
    try:
        allowed = Path("/sys/fs/cgroup/memory.max").read_text("ascii").strip()
    except OSError:
        allowed = "max"
    return int(0.9 * min([whole, *([int(allowed)] if allowed.isdecimal() else [])]))


class Child:
    """A running driver. folder: its own, absolute; images for it are written there.

    again: whether it takes the place of one that died, whose log goes on.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        limits: Limits,
        variables: Mapping[str, str] = {},
        again: bool = False,
    ) -> None:
        SCRATCH.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=SCRATCH)).absolute()
        self.log = SCRATCH / f"{name}.log"
        self.ended = ""
        self._limits, self._read, self._lines = limits, bytearray(), list[bytes]()
        self._ready_by = time.monotonic() + limits.start
        life, self._life = os.pipe()
        self._answers, answers = os.pipe()
        try:
            watched = [life, self.log.absolute(), int(again), self.folder, limits.memory, answers]
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [sys.executable, "-I", guard.__file__, *map(str, watched), *command, str(answers)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[life, answers],
                env={**self._environment(), **variables},
                start_new_session=True,
            )
        finally:
            os.close(life)
            os.close(answers)
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        os.set_blocking(self._answers, False)
        self._finish = weakref.finalize(self, _close, self._process, self._life, self._answers, self.folder)

    def _environment(self) -> dict[str, str]:
        """No keys, no network, no home outside the checkout."""
        passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
        home = str(self.folder)
        return {**passed, **_SET, "HOME": home, "TMPDIR": home, "XDG_CACHE_HOME": home, "HF_HOME": home}

    def send(self, line: Mapping[str, Any]) -> None:
        """Writes one line. Raises Died."""
        if self._process.stdin is None:
            raise Died(self.ended)
        data, handle = memoryview((json.dumps(line) + "\n").encode("ascii")), self._process.stdin.fileno()
        deadline = time.monotonic() + self._limits.silence
        while data:
            _, ready, _ = select.select([], [handle], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise Died(self.close(self._silence))
            try:
                data = data[os.write(handle, data) :]
            except BlockingIOError:
                continue
            except OSError:
                raise Died(self._ended()) from None

    def receive(self, starting: bool = False) -> dict[str, Any]:
        """The next message that is no heartbeat. Raises Died if none comes in time, and Broken.

        starting: the driver has to be ready in time, whatever else it says until then.
        """
        while True:
            message = parsed(self._line(self._ready_by if starting else None))
            if "beat" not in message:
                return message

    def _line(self, deadline: float | None) -> bytes:
        until = time.monotonic() + self._limits.silence if deadline is None else deadline
        while not self._lines:
            readable, _, _ = select.select([self._answers], [], [], max(0.0, until - time.monotonic()))
            if not readable:
                late = f"it was not ready after {self._limits.start:g} s"
                raise Died(self.close(late if deadline else self._silence))
            data = os.read(self._answers, _CHUNK)
            if not data:
                raise Died(self._ended())
            self._read += data
            if b"\n" in data:
                *self._lines, rest = bytes(self._read).split(b"\n")
                self._read = bytearray(rest)
            if len(self._read) > LONGEST or any(len(line) > LONGEST for line in self._lines):
                raise Broken(f"a line of more than {LONGEST >> 20} MiB")
        return self._lines.pop(0)

    @property
    def _silence(self) -> str:
        return f"it said nothing for {self._limits.silence:g} s"

    def _ended(self) -> str:
        """How the driver ended, of which only an end of file is known."""
        assert self._process.stdout is not None
        report, _, _ = select.select([self._process.stdout], [], [], 2 * guard.PACE_SECONDS)
        return self.close("" if report else "it closed the pipe of its answers")

    def close(self, why: str = "") -> str:
        """Ends the driver and all that it started; waits until nothing is left. Returns why, or how it ended,
        and the last line that it printed."""
        if self._finish.alive:
            ended = self._finish() or ""
            self.ended = (why or ended) + self._printed()
        return self.ended

    def _printed(self) -> str:
        """The last line that the driver printed, in brackets; empty if it printed none."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - _CHUNK))
                lines = file.read().decode("utf-8", "replace").split("\n")
        except OSError:
            return ""
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f" ({hidden(last)[:200]}; {self.log} has the rest)" if last else ""


def _close(process: "subprocess.Popen[bytes]", life: int, answers: int, folder: Path) -> str:
    """Lets the guard end the driver; how the driver ended."""
    os.close(life)
    with contextlib.suppress(OSError):
        assert process.stdin is not None
        process.stdin.close()
    process.stdin = None  # else communicate would flush it
    report = b""
    try:
        report, _ = process.communicate(timeout=4 * guard.GRACE_SECONDS)
    except (subprocess.TimeoutExpired, ValueError):
        process.kill()
        process.wait()
    os.close(answers)
    try:
        return str(json.loads(report)["ended"])
    except (ValueError, KeyError):  # the system ends the driver with its guard
        shutil.rmtree(folder, ignore_errors=True)
        return "its guard was ended"
