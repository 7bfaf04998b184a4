"""Locks with flock and without it, and leases of GPUs: real processes, and a real libc call that fails."""

import errno
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import SoftFileLock

from tests.pipeline.conftest import ENV, Start, said
from vouch.pipeline import locks
from vouch.pipeline.dag import Stage
from vouch.pipeline.errors import UserError
from vouch.pipeline.locks import locked, stage_lock

STAGE = Stage("report", "python -m stages.report", (), ("reports/figures", "reports/metrics.json"), {})
HOLD = """
import sys
from pathlib import Path
from vouch.pipeline.locks import locked
with locked(Path(sys.argv[1]), 60, "it", "at work", lambda: print("waits", flush=True)):
    print("held", flush=True)
    input()
"""
# Reads and writes a number without any atomicity: two at once lose a count, or fail.
COUNT = """
import os, sys
from pathlib import Path
from vouch.pipeline import locks
locks._POLL_SECONDS = 0.001
folder = Path(sys.argv[1])
for _ in range(20):
    with locks.locked(folder / ".lock", 60, "it", "at work"):
        os.close(os.open(folder / "inside", os.O_CREAT | os.O_EXCL))
        (folder / "count").write_text(str(int((folder / "count").read_text()) + 1))
        os.unlink(folder / "inside")
"""


@pytest.fixture
def start(python: Start, compiled: Callable[[str], Path]) -> Start:
    """start(code, path, refused): a process in which flock fails with that error."""

    def one(code: str, path: Path, refused: int | None = None) -> subprocess.Popen[str]:
        env = {"LD_PRELOAD": str(compiled("flock_refused")), "FLOCK_ERRNO": str(refused)} if refused else {}
        return python(code, str(path), env=ENV | env)

    return one


@pytest.mark.parametrize("refused", [None, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_one_process_at_a_time(tmp_path: Path, start: Start, refused: int | None) -> None:
    (tmp_path / "count").write_text("0")
    racing = [start(COUNT, tmp_path, refused) for _ in range(3)]
    errors = [process.communicate(timeout=120)[1] for process in racing]
    assert [process.returncode for process in racing] == [0, 0, 0], errors
    assert (tmp_path / "count").read_text() == "60"


def test_a_marker_that_goes_while_filelock_looks_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As happens once in some thousand times if processes race without flock."""
    lock = SoftFileLock(tmp_path / ".lock.held")
    looks = iter([FileNotFoundError(errno.ENOENT, "gone"), None])
    acquire = lock.acquire

    def racing(*given: Any, **named: Any) -> Any:
        if error := next(looks):
            raise error
        return acquire(*given, **named)

    monkeypatch.setattr(lock, "acquire", racing)
    locks._acquire_marker(lock, 0)
    assert lock.is_locked
    lock.release()


@pytest.mark.parametrize("refused", [None, errno.ENOLCK])
def test_a_killed_holder_lets_go(tmp_path: Path, start: Start, refused: int | None) -> None:
    path = tmp_path / ".lock"
    holder = start(HOLD, path, refused)
    assert said(holder) == "held"
    later = start(HOLD, path, refused)
    assert said(later) == "waits"
    holder.kill()  # and nobody has asked how it ended yet: it is still a process of its number
    holder.wait()
    assert said(later) == "held"


def test_other_errors_of_flock_are_errors(tmp_path: Path, start: Start) -> None:
    done = start(HOLD, tmp_path / ".lock", errno.EIO)
    assert "Input/output error" in done.communicate(timeout=60)[1] and done.returncode == 1


def test_one_line_says_who_has_it(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    holder = start(HOLD, tmp_path / locks.STAGES / STAGE.slug)
    assert said(holder) == "held"
    monkeypatch.chdir(tmp_path)
    line = rf"^report: another run \(process {holder.pid} on [^)]+\) has been at work for 0 s; wait"
    with pytest.raises(UserError, match=line), stage_lock(STAGE, 0):
        pytest.fail("two processes have one lock")
    assert capsys.readouterr().err == "report: another run of it is busy; waiting for it\n"
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with stage_lock(STAGE, 0) as waited:
        assert not waited


def test_a_marker_of_another_machine_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fcntl.flock", refused)
    marker = tmp_path / ".lock.held"
    marker.write_text("7\nelsewhere\n")
    line = rf"another run \(process 7 on elsewhere; if it is gone, delete {marker}\)"
    with pytest.raises(UserError, match=line), locked(tmp_path / ".lock", 0, "it", "at work"):
        pytest.fail("it may be alive")
    marker.unlink()
    with locked(tmp_path / ".lock", 0, "it", "at work"):
        assert marker.exists()
    assert not marker.exists()
    marker.touch()  # of a full disk, or of a kill before it was written
    monkeypatch.setattr(locks, "_WRITTEN_SECONDS", 0.1)
    line = f"^it: {marker} names no process; if no other run is at work, delete it$"
    with pytest.raises(UserError, match=line), locked(tmp_path / ".lock", 300, "it", "at work"):
        pytest.fail("it may be alive")


def test_what_killed_runs_of_the_stage_left_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "reports/.figures.123.part/deep"
    folder.mkdir(parents=True)
    (folder / "accuracy.svg").write_text("half")
    receipt = tmp_path / ".vouch/receipts/.report.json.123.part"
    receipt.parent.mkdir(parents=True)
    others = [tmp_path / "reports/.tables.123.part", tmp_path / "reports/figures.part"]
    for path in (tmp_path / "reports/.metrics.json.9.part", receipt, *others):
        path.write_text("half")
    with stage_lock(STAGE):
        left = list(tmp_path.rglob("*.part"))
    assert sorted(left) == sorted(others), "of other stages, and what has no temporary name, stays"


# GPUs: real processes, on a driver's list that is made up.
UUIDS = [f"GPU-0000000{number}-aaaa" for number in range(3)]
LISTED = "".join(f"GPU {number}: NVIDIA X (UUID: {uuid})\n" for number, uuid in enumerate(UUIDS))
DIVIDED = LISTED.replace(
    "GPU 2", "  MIG 1g.5gb  Device 0: (UUID: MIG-b)\n  MIG 1g.5gb  Device 1: (UUID: MIG-c)\nGPU 2"
)

LEASE = """
import os, sys, time
from vouch.pipeline.locks import lease
taken = lease(everything="all" in sys.argv)
assert lease() == taken and os.environ.get("CUDA_VISIBLE_DEVICES", "") == ",".join(taken), taken
print(",".join(taken), flush=True)
time.sleep(60 if "stay" in sys.argv else 0)
"""


@pytest.fixture
def leasing(python: Start, tmp_path: Path) -> Start:
    """leasing(*arguments, listed=..., **environment): a process that leases."""

    def one(*arguments: str, listed: str = LISTED, code: str = LEASE, **more: str) -> subprocess.Popen[str]:
        tool = tmp_path / "nvidia-smi"
        tool.write_text(f"#!/bin/sh\nprintf '{listed}'\n")
        tool.chmod(0o755)
        kept = {name: value for name, value in ENV.items() if name != "CUDA_VISIBLE_DEVICES"}
        path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
        return python(code, *arguments, env={**kept, "PATH": path, "TMPDIR": str(tmp_path), **more})

    return one


def test_each_process_has_its_own_and_a_killed_one_gives_it_back(leasing: Start) -> None:
    holders = [leasing("stay") for _ in UUIDS]
    taken = [said(holder) for holder in holders]
    assert sorted(taken) == UUIDS
    late = leasing()
    assert (
        late.stderr is not None
        and late.stderr.readline() == "all 3 GPUs are in use by other runs; waiting for one\n"
    )
    holders[1].kill()
    assert said(late) == taken[1]


def test_a_split_model_takes_all_of_them_once_they_are_free(leasing: Start) -> None:
    one = leasing("stay")
    assert said(one) == UUIDS[0]
    everything = leasing("all", "stay")
    assert everything.stderr is not None and "waiting" in everything.stderr.readline()
    one.kill()
    assert said(everything) == ",".join(UUIDS)
    late = leasing()
    assert late.stderr is not None and "waiting" in late.stderr.readline()
    everything.kill()
    assert said(late) in UUIDS


def test_what_the_user_or_the_driver_allows_is_the_choice(leasing: Start) -> None:
    assert said(leasing(CUDA_VISIBLE_DEVICES="2,0")) == "2"
    assert said(leasing("all", CUDA_VISIBLE_DEVICES="1,-1,0")) == "1"
    assert said(leasing("all", CUDA_VISIBLE_DEVICES="2, 0")) == "2,0"
    holder = leasing("stay", CUDA_VISIBLE_DEVICES="GPU-00000001")
    assert said(holder) == "GPU-00000001"
    assert said(leasing("stay", CUDA_VISIBLE_DEVICES="1,2")) == "2", "the same GPU by another name"
    assert said(leasing(CUDA_VISIBLE_DEVICES="")) == ""
    assert said(leasing(listed="")) == "", "no GPU"


def test_parts_of_a_gpu_count_one_by_one(leasing: Start) -> None:
    assert said(leasing("all", listed=DIVIDED)) == f"{UUIDS[0]},MIG-b,MIG-c,{UUIDS[2]}"


def test_a_model_is_loaded_on_the_leased_one(leasing: Start) -> None:
    code = (
        "import os, torch; torch.version.cuda = '13.0'; from vouch.models.loading import choose_device\n"
        "print(choose_device('cpu'), os.environ.get('CUDA_VISIBLE_DEVICES'), end=' ')\n"
        "choose_device('auto'); print(os.environ['CUDA_VISIBLE_DEVICES'])"
    )
    assert said(leasing(code=code)) == f"cpu None {UUIDS[0]}"
