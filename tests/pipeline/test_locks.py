"""Locks with flock and without it: real processes, and a real libc call that fails."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vouch.pipeline import owners
from vouch.pipeline.locks import Busy, locked
from vouch.pipeline.processes import seen

ROOT = Path(__file__).parents[2]
SHIM = Path(__file__).with_name("flock_refused.c")

HOLD = """
import sys, time
from pathlib import Path
from vouch.pipeline import locks, owners
owners.BEAT_SECONDS = 0.05
with locks.locked(Path(sys.argv[1]), patience=60):
    print("held", flush=True)
    time.sleep(60)
"""

# Reads and writes a number without any atomicity, so that two at once would lose a count; and says if they are two.
COUNT = """
import os, sys, time
from pathlib import Path
from vouch.pipeline import locks
locks._POLL_SECONDS = 0.001
folder = Path(sys.argv[1])
for _ in range(40):
    with locks.locked(folder / ".lock", patience=60):
        os.close(os.open(folder / "inside", os.O_CREAT | os.O_EXCL))
        count = int((folder / "count").read_text())
        time.sleep(0.0005)
        (folder / "count").write_text(str(count + 1))
        os.unlink(folder / "inside")
"""


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that makes flock fail."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler on Linux to make flock fail")
    library = tmp_path_factory.mktemp("shim") / "flock_refused.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(SHIM)], check=True)
    return library


def environment(shim: Path | None, number: int = errno.ENOLCK) -> dict[str, str]:
    more = {"LD_PRELOAD": str(shim), "FLOCK_ERRNO": str(number)} if shim else {}
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def start(code: str, path: Path, env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def held(path: Path, env: dict[str, str]) -> subprocess.Popen[str]:
    """A process that has the lock."""
    holder = start(HOLD, path, env)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    return holder


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@pytest.mark.parametrize("refused", [None, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_processes_that_race_take_turns(tmp_path: Path, shim: Path, refused: int | None) -> None:
    (tmp_path / "count").write_text("0")
    env = environment(shim if refused else None, refused or 0)
    racing = [start(COUNT, tmp_path, env) for _ in range(3)]
    errors = [process.communicate(timeout=120)[1] for process in racing]
    assert [process.returncode for process in racing] == [0, 0, 0], errors
    assert (tmp_path / "count").read_text() == "120"
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == [".lock", ".lock.120", "count"] if refused else [".lock", "count"], files


def test_other_errors_of_flock_are_errors(tmp_path: Path, shim: Path) -> None:
    done = start(HOLD, tmp_path / ".lock", environment(shim, errno.EIO))
    assert "Input/output error" in done.communicate(timeout=60)[1] and done.returncode == 1


def test_a_living_owner_keeps_it_and_a_killed_one_lets_go(tmp_path: Path, shim: Path) -> None:
    path = tmp_path / ".lock"
    holder = held(path, environment(shim))
    try:
        told: list[int] = []
        with (
            pytest.raises(Busy, match=rf"process {holder.pid} on ") as busy,
            locked(path, 1.2, lambda: told.append(1)),  # flock works here: its owner counts all the same
        ):
            pytest.fail("two processes have one lock")
        assert told == [1] and "silent" not in str(busy.value)
        later = start(HOLD, path, environment(shim))
        holder.kill()  # and nobody has asked how it ended yet: it is still a process of its number
        assert later.stdout is not None and later.stdout.readline() == "held\n"
        end(later)
    finally:
        end(holder)
    with locked(path, patience=0):
        pass


def owned(path: Path, **changes: object) -> None:
    """A lock whose owner is this process, but for the changes."""
    me = {"host": "node", "kernel": owners.kernel(), "pid": os.getpid(), "token": "0"}
    itself = seen(os.getpid())
    me["started"] = itself.started if itself else None
    path.with_name(path.name + ".7").write_text(json.dumps(me | changes))


def test_only_who_is_certainly_dead_loses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ".lock"
    for alive in ({}, {"kernel": "another 1"}, {"kernel": "another 1", "pid": 2**22 + 1}, {"kernel": ""}):
        owned(path, **alive)
        with pytest.raises(Busy), locked(path, patience=0):
            pytest.fail(f"{alive} is not known to be dead")
    for half in ("", "{"):  # being written
        path.with_name(".lock.7").write_text(half)
        with pytest.raises(Busy), locked(path, patience=0):
            pytest.fail("its owner is about to say who it is")
    for dead in ({"pid": 2**22 + 1}, {"started": 1}):  # no such process; the number was given again
        owned(path, **dead)
        with locked(path, patience=0):
            pass
    owned(path, kernel="another 1")
    monkeypatch.setattr(owners, "SILENT_SECONDS", 1.0)
    with locked(path, patience=30):
        pass


def test_an_owner_whose_lock_went_on_stops(tmp_path: Path, shim: Path) -> None:
    path = tmp_path / ".lock"
    holder = held(path, environment(shim))
    beat = path.with_name(".lock.1").stat().st_mtime_ns
    deadline = time.monotonic() + 60
    while path.with_name(".lock.1").stat().st_mtime_ns == beat and time.monotonic() < deadline:
        time.sleep(0.01)
    assert path.with_name(".lock.1").stat().st_mtime_ns > beat, "it says that it is alive"
    path.with_name(".lock.1").rename(path.with_name(".lock.2"))
    path.with_name(".lock.2").write_text("{}")
    error = holder.communicate(timeout=60)[1]
    assert holder.returncode == -signal.SIGTERM and "the lock was lost; this run stops" in error
