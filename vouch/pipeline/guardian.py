"""Puts right what DVC was writing when it was killed, at once, so that the next plain command finds it whole.

No code of this project runs before the next DVC reads dvc.lock and its book. So whoever writes them gets a
guardian: a small process in a session of its own, which no signal to the writer reaches. It waits for the
writer's end, mends (vouch/pipeline/mending.py) and ends. It needs some milliseconds for that, DVC to load a
second, and while it is busy it has DVC's lock. It holds nothing open while it waits.
"""

import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from vouch.pipeline.errors import UserError
from vouch.pipeline.mending import at_work, mend
from vouch.pipeline.processes import ancestors, gone, seen

MARKS = Path(".vouch/guarded")  # a file for each process that has a guardian: PID-START
NOTES = Path(".vouch/guardian.log")
_POLL_SECONDS = 0.2


def watch_engine() -> None:
    """Gives the engine that runs this stage a guardian. Engines sign in DVC's book; by hand there is none."""
    writers = at_work()
    for pid in ancestors():
        if pid in writers:
            watch(pid, since_copy=True)
            return


def watch(pid: int, since_copy: bool = False) -> None:
    """Gives a process that writes with DVC a guardian, unless it has one or nothing can be written here.

    since_copy: of `mending.mend`.
    """
    process = seen(pid)
    name = f"{pid}-{process.started if process else 0}"
    command = [sys.executable, "-S", "-m", "vouch.pipeline.guardian", name, *["since_copy"] * since_copy]
    with suppress(OSError):
        MARKS.mkdir(parents=True, exist_ok=True)
        (MARKS / name).touch(exist_ok=False)
        nothing = subprocess.DEVNULL
        subprocess.run(
            command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, check=False
        )


def _guard(name: str, since_copy: bool) -> None:
    if os.fork():  # nobody's child, so that nobody has to wait for it
        os._exit(0)
    pid, started = map(int, name.split("-"))
    _wait(pid, started)
    try:
        mend(since_copy, _note)
    except (UserError, OSError) as error:  # such as a disk that is still full
        with suppress(OSError):
            _note(f"not mended: {error}; `vouch store sync` mends it then")
    finally:
        for mark in MARKS.iterdir():  # also of guardians that were killed
            with suppress(ValueError, OverflowError):  # no mark
                if gone(*map(int, mark.name.split("-"))):
                    mark.unlink(missing_ok=True)


def _wait(pid: int, started: int) -> None:
    """Returns when a process has ended. started: tells one that got its number later from it."""
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):  # an older kernel, or it has ended
        pass
    else:
        if not gone(pid, started):
            select.select([handle], [], [])
    while not gone(pid, started):
        time.sleep(_POLL_SECONDS)


def _note(line: str) -> None:
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}\n")


if __name__ == "__main__":
    _guard(sys.argv[1], "since_copy" in sys.argv[2:])
