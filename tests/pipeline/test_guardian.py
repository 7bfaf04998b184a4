"""A DVC killed while it writes, and what comes next: the real DVC, real signals."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from dvc.lock import Lock

from tests.pipeline.test_mending import ENTRY, TEXT
from vouch.pipeline import guardian, mending

ROOT = Path(__file__).parents[2]
SHIM = Path(__file__).with_name("kill_in_write.c")
STAGE = """
import os, sys
from vouch.pipeline.guardian import MARKS, watch_engine
from vouch.pipeline.mending import keep
keep()
watch_engine()
name = sys.argv[1]
with open("log", "a") as log:
    print(name, len(os.listdir(MARKS)), file=log)
with open(f"{name}.txt", "w") as out:
    out.write(name)
"""
DEFINITION = """
stages:
  one: {cmd: python stage.py one, deps: [stage.py], outs: [one.txt]}
  two: {cmd: python stage.py two, deps: [one.txt], outs: [two.txt]}
  three: {cmd: python stage.py three, deps: [two.txt], outs: [three.txt]}
"""
# Signs in DVC's book, as DVC does, and has a guardian.
ENGINE = """
import json, os
from vouch.pipeline.guardian import watch_engine
from vouch.pipeline.mending import BOOK
BOOK.write_text(json.dumps({"write": {"data": {"pid": os.getpid(), "cmd": "dvc repro"}}}))
if os.fork() == 0:  # a stage
    watch_engine()
    watch_engine()
    os._exit(0)
os.wait()
print("watched", flush=True)
input()
"""
UNABLE = "import os, runpy, sys; del os.pidfd_open; runpy.run_module('vouch.pipeline.guardian', run_name='__main__')"
HURRIED = "import runpy; from vouch.pipeline import mending; mending.PATIENCE_SECONDS = 0.1; "
HURRIED += "runpy.run_module('vouch.pipeline.guardian', run_name='__main__')"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes in /proc")


def guardians(folder: Path) -> list[int]:
    """Guardians at work in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            if b"\0-m\0stages.runtime.guardian\0" in line and (entry / "cwd").resolve() == folder:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_until_alone(folder: Path, others: Iterable[str] = ()) -> None:
    """Returns when no guardian is left, and none of their marks. others: files that are no marks."""
    for _ in range(600):
        if not guardians(folder):
            break
        time.sleep(0.05)
    assert guardians(folder) == [] and {path.name for path in (folder / guardian.MARKS).iterdir()} == {
        *others
    }


def dvc(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        ["dvc", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": path, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three stages, one after the other, none of which has run."""
    folder = tmp_path_factory.mktemp("project").resolve()
    (folder / "stage.py").write_text(STAGE)
    (folder / "dvc.yaml").write_text(DEFINITION)
    assert dvc(folder, "init", "-q", "--no-scm").returncode == 0
    return folder


@pytest.fixture(scope="module")
def undisturbed(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same after `dvc repro`."""
    folder = shutil.copytree(project, tmp_path_factory.mktemp("undisturbed").resolve() / "one")
    assert dvc(folder, "repro").returncode == 0
    assert (folder / "log").read_text().splitlines() == ["one 1", "two 1", "three 1"], "one guardian for all"
    wait_until_alone(folder)
    assert not (folder / guardian.NOTES).exists()
    return folder


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that kills its process in the middle of a write."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler to kill in the middle of a write")
    library = tmp_path_factory.mktemp("shim") / "kill_in_write.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(SHIM)], check=True)
    return library


@pytest.mark.parametrize(
    ("file", "through", "after"),
    [("dvc.lock", 0, "one"), ("dvc.lock", 300, "two"), (".dvc/tmp/rwlock", 9, "two")],
)
def test_killed_in_the_middle_of_writing_the_next_plain_command_goes_on(
    project: Path, undisturbed: Path, shim: Path, tmp_path: Path, file: str, through: int, after: str
) -> None:
    folder = shutil.copytree(project, tmp_path.resolve() / "one")
    env = {
        "LD_PRELOAD": str(shim),
        "KILL_FILE": str(folder / file),
        "KILL_BYTES": str(through),
        "KILL_ONCE": str(folder / f"{after}.txt"),
    }
    assert dvc(folder, "repro", **env).returncode == -signal.SIGKILL
    for command in ("status", "repro") if through else ("repro",):  # at once
        done = dvc(folder, command)
        assert done.returncode == 0, done.stderr
    assert f"{file}: was cut short" in (folder / guardian.NOTES).read_text()
    for name in ("dvc.lock", "one.txt", "two.txt", "three.txt"):
        assert (folder / name).read_bytes() == (undisturbed / name).read_bytes()
    ran = [line.split()[0] for line in (folder / "log").read_text().splitlines()]
    assert ran == ["one", "two", "three"] or (
        file.endswith("rwlock") and ran == ["one", "two", "two", "three"]
    )
    wait_until_alone(folder)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """An engine with a guardian, in a session of its own; dvc.lock is TEXT, and the copy too."""
    mending_copy = tmp_path / mending.COPY
    for path in (tmp_path / "dvc.lock", mending_copy):
        path.parent.mkdir(exist_ok=True)
        path.write_text(TEXT)
    (tmp_path / mending.BOOK).parent.mkdir(parents=True)
    process = subprocess.Popen(
        [sys.executable, "-c", ENGINE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == b"watched\n"
        assert len(guardians(tmp_path.resolve())) == 1
        yield process
    finally:
        if process.returncode is None:  # the test failed before it killed it
            kill(process)


def kill(engine: subprocess.Popen[bytes]) -> None:
    os.killpg(engine.pid, signal.SIGKILL)
    engine.communicate()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TEXT[:-1], TEXT),
        (TEXT[: TEXT.index("  three:")], TEXT),
        (TEXT + ENTRY.format(name="four"), TEXT + ENTRY.format(name="four")),
        ("<<<<<<< HEAD\n" + TEXT[:-1], "<<<<<<< HEAD\n" + TEXT[:-1]),
    ],
    ids=["cut short", "cut between stages", "whole", "a merge conflict"],
)
def test_its_group_killed_an_engine_leaves_a_guardian_that_mends_and_ends(
    engine: subprocess.Popen[bytes], tmp_path: Path, text: str, expected: str
) -> None:
    lock = tmp_path / "dvc.lock"
    lock.write_text(text)
    before = lock.stat()
    others = (".nfs0001", "99999999999999999999-1")
    for name in (*others, f"{2**22 + 1}-1"):  # the last is a mark, of one that was killed
        (tmp_path / guardian.MARKS / name).touch()
    kill(engine)
    wait_until_alone(tmp_path.resolve(), others)
    assert lock.read_text() == expected
    assert ((before.st_ino, before.st_mtime_ns) == (lock.stat().st_ino, lock.stat().st_mtime_ns)) == (
        text == expected
    )
    assert json.loads((tmp_path / mending.BOOK).read_text())["write"], "whole: nobody's business but DVC's"


def test_a_dvc_that_writes_meanwhile_is_left_alone(engine: subprocess.Popen[bytes], tmp_path: Path) -> None:
    lock, alive = tmp_path / "dvc.lock", Lock(str(tmp_path / ".dvc/tmp/lock"))
    with alive, lock.open("w") as handle:
        handle.write(TEXT[:90])
        handle.flush()
        kill(engine)
        time.sleep(0.3)
        assert lock.read_text() == TEXT[:90] and guardians(tmp_path.resolve())
        handle.write(TEXT[90:].replace("seed: 1", "seed: 2"))
    wait_until_alone(tmp_path.resolve())
    assert lock.read_text() == TEXT[:90] + TEXT[90:].replace("seed: 1", "seed: 2")


def test_where_a_folder_is_gone_or_cannot_be_written_there_is_none(
    engine: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path.resolve()
    shutil.rmtree(folder / ".vouch")
    (folder / ".vouch").write_text("no folder")
    monkeypatch.chdir(folder)
    guardian.watch(os.getpid())
    assert len(guardians(folder)) == 1, "the engine's"
    monkeypatch.undo()
    (watcher,) = guardians(folder)
    shutil.rmtree(folder)
    kill(engine)
    for _ in range(600):
        if not Path(f"/proc/{watcher}").exists():
            return
        time.sleep(0.05)
    raise AssertionError("the guardian is still there")


def test_without_a_handle_for_processes_it_polls(tmp_path: Path) -> None:
    (tmp_path / guardian.MARKS).mkdir(parents=True)
    (tmp_path / "dvc.lock").write_text(TEXT[:-1])
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        started = Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")[2].split()[19]
        command = [sys.executable, "-S", "-c", UNABLE, f"{sleeper.pid}-{started}"]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        try:
            assert subprocess.run(command, cwd=tmp_path, env=env, check=False).returncode == 0
            time.sleep(0.5)
            assert (tmp_path / "dvc.lock").exists()
        finally:
            sleeper.kill()
    for _ in range(600):
        if not (tmp_path / "dvc.lock").exists():
            return
        time.sleep(0.05)
    raise AssertionError("nothing was mended")


@pytest.mark.parametrize(
    ("at_work", "said"),
    [
        (True, "dvc.lock: another run has been at work with DVC .* then run the same command again"),
        (False, r".*\.vouch/dvc\.lock\.cut.*"),
    ],
    ids=["a DVC that is at work for long", "a file that cannot be written"],
)
def test_what_it_could_not_mend_is_in_its_log(tmp_path: Path, at_work: bool, said: str) -> None:
    for folder in (guardian.MARKS, Path(".dvc/tmp"), mending.REPLACED):  # the last should be a file
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "dvc.lock").write_text(TEXT[:-1])
    notes = tmp_path / guardian.NOTES
    with Lock(str(tmp_path / ".dvc/tmp/lock")) if at_work else nullcontext():
        command = [sys.executable, "-S", "-c", HURRIED, f"{2**22 + 1}-1"]
        subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
        for _ in range(600):
            if notes.exists() and notes.read_text().endswith("\n"):
                break
            time.sleep(0.05)
    assert re.fullmatch(rf"\S+Z not mended: {said}; `vouch store sync` mends it then\n", notes.read_text())
    assert (tmp_path / "dvc.lock").read_text() == TEXT[:-1]
