"""Starts a driver and watches over it: `python guard.py LIFE LOG AGAIN SCRATCH BYTES ANSWERS PYTHON ...`.

LIFE is a descriptor that ends when Vouch does, however that happens, even by kill -9. Then, or when the
driver ends or takes more than BYTES of memory, everything that the driver started is ended as well, SCRATCH
is removed, and a line of JSON says how the driver ended. LOG gets what it printed; of more than MOST_PRINTED
bytes, the first and the last half of that. AGAIN is 1 after a death: then it is added to the log.

Runs by its path, with Vouch's own Python: standard library only. A process of its own, because a driver may
hang in a call that no signal handler or thread of its own interrupts.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO

MOST_PRINTED, MOST_LOGGED = 1 << 20, 8 << 20
GRACE_SECONDS = 3.0  # between TERM and KILL
PACE_SECONDS = 0.5
_PRINTED = "printed"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def main() -> None:
    """Runs the driver until it or Vouch ends."""
    life, log, again, scratch = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "1", Path(sys.argv[4])
    most, answers, command = int(sys.argv[5]), int(sys.argv[6]), sys.argv[7:]
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)  # what the driver leaves behind becomes a child of this process
    printed, writes = os.pipe()
    try:
        child = subprocess.Popen(
            command,
            stdout=writes,
            stderr=writes,
            pass_fds=[answers],
            cwd=scratch,
            start_new_session=True,
            preexec_fn=lambda: _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
        )
    except OSError as error:
        shutil.rmtree(scratch, ignore_errors=True)
        _report(f"{command[0]} cannot be run ({error.strerror})")
        return
    for descriptor in (0, answers, writes):
        os.close(descriptor)  # so that each ends when the driver ends
    with (scratch / _PRINTED).open("wb", buffering=0) as file:
        output = _Output(printed, file)
        ended = _watch(child, life, output, most)
        _end(child)
        output.rest()
    with contextlib.suppress(OSError):
        if again and log.is_file() and log.stat().st_size < MOST_LOGGED:
            with log.open("ab") as file:
                file.write((scratch / _PRINTED).read_bytes())
        else:
            os.replace(scratch / _PRINTED, log)
    shutil.rmtree(scratch, ignore_errors=True)
    _report(ended or _how(child.returncode))


def _report(ended: str) -> None:
    with contextlib.suppress(OSError):
        print(json.dumps({"ended": ended}), flush=True)


class _Output:
    """Copies what a driver prints into a file: the first bytes at once, the last ones at the end. pipe: where
    it prints."""

    def __init__(self, pipe: int, file: BinaryIO) -> None:
        self.pipe, self._file, self._left = pipe, file, MOST_PRINTED // 2
        self._last, self._cut = b"", False

    def copy(self) -> bool:
        """Copies what is there; whether more may come."""
        data = os.read(self.pipe, 1 << 16)
        first, last = data[: self._left], self._last + data[self._left :]
        self._write(first)
        self._left -= len(first)
        self._cut |= len(last) > MOST_PRINTED // 2
        self._last = last[-(MOST_PRINTED // 2) :]
        return bool(data)

    def rest(self) -> None:
        """Copies what is left once nobody prints any more."""
        os.set_blocking(self.pipe, False)
        with contextlib.suppress(BlockingIOError):
            while self.copy():
                pass
        self._write((b"\n[...]\n" if self._cut else b"") + self._last)

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # a full disk ends no driver
            self._file.write(data)


def _watch(child: "subprocess.Popen[bytes]", life: int, output: _Output, most: int) -> str:
    """Waits until the driver ends or has to; why it has to, empty if it ended by itself."""
    waiting = select.poll()
    for descriptor in (life, output.pipe):
        waiting.register(descriptor, select.POLLIN | select.POLLHUP)
    with contextlib.suppress(AttributeError, OSError):  # Linux; elsewhere its end is seen at the next pace
        waiting.register(os.pidfd_open(child.pid), select.POLLIN)
    while True:
        for descriptor, _ in waiting.poll(1000 * PACE_SECONDS):
            if descriptor == life:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(PACE_SECONDS)  # it may be about to end by itself
                    return ""
                return "ended by Vouch"
            if descriptor == output.pipe and not output.copy():
                waiting.unregister(output.pipe)
        if child.poll() is not None:
            return ""
        if (taken := _memory(child.pid)) > most:
            return f"it took {taken / 2**30:.1f} GB of memory, more than the {most / 2**30:.1f} allowed"


def _memory(process: int) -> int:
    """Bytes that a process and those that it started hold; 0 where the system does not tell."""
    total, todo = 0, [process]
    while todo:
        one = todo.pop()
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
            todo += _children(one)
    return total


def _end(child: "subprocess.Popen[bytes]") -> None:
    """Ends the driver's group, then whatever it started elsewhere."""
    if child.poll() is None:
        _signal_group(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_SECONDS)
    _signal_group(child.pid, signal.SIGKILL)
    child.wait()
    deadline = time.monotonic() + GRACE_SECONDS
    while (left := _children(os.getpid())) and time.monotonic() < deadline:
        for one in left:
            with contextlib.suppress(OSError):
                os.kill(one, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)


def _children(process: int) -> list[int]:
    """Children of a process that live or wait to be collected."""
    children: list[int] = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            children += map(int, path.read_text().split())
    return children


def _signal_group(group: int, which: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, which)


def _how(status: int) -> str:
    if status >= 0:
        return f"it ended with status {status}"
    with contextlib.suppress(ValueError):
        return f"it was ended by {signal.Signals(-status).name}"
    return f"it was ended by signal {-status}"


def _prctl(option: int, value: int) -> None:
    """On Linux; elsewhere nothing."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
