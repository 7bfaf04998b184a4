"""DVC and Snakemake in one checkout, and a DVC killed while it writes: real processes, the real DVC."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dvc.exceptions import DvcException
from dvc.lock import make_lock
from dvc.schema import COMPILED_LOCKFILE_SCHEMA
from dvc.utils.serialize import dumps_yaml, parse_yaml
from dvc.utils.strictyaml import validate

from tests.pipeline.conftest import ENV
from vouch.pipeline import runners
from vouch.pipeline.errors import UserError
from vouch.pipeline.records import read_lock
from vouch.pipeline.yaml12 import loads

ENTRY = """  {name}:
    cmd: python -m stages.{name}
    deps:
    - path: params.yaml
      md5: 0123456789abcdef0123456789abcdef
    params:
      params.yaml:
        seed: 1
    outs:
    - path: data/{name}.parquet
      md5: 0123456789abcdef0123456789abcdef
"""
TEXT = "schema: '2.0'\nstages:\n" + "".join(ENTRY.format(name=name) for name in ("one", "two@a-b", "three"))
STAGE = """
import pathlib, sys
from vouch.pipeline.runners import mend
mend()
name = sys.argv[1]
open("log", "a").write(name + "\\n")
pathlib.Path("data").mkdir(exist_ok=True)
pathlib.Path(f"data/{name}.txt").write_text(name)
"""
DEFINITION = """
stages:
  one: {cmd: python stage.py one, deps: [stage.py], outs: [data/one.txt]}
  two: {cmd: python stage.py two, deps: [data/one.txt], outs: [data/two.txt]}
  three: {cmd: python stage.py three, deps: [data/two.txt], outs: [data/three.txt]}
"""
PIPELINE = """
stages:
  one: {cmd: python -m stages.one}
  two: {matrix: {first: [a], second: [b]}, cmd: python -m stages.two}
  three: {cmd: python -m stages.three}
"""
HOLDER = "from vouch.pipeline.runners import enter; enter(); print('in', flush=True); input()"


def dvc(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        ["dvc", *arguments], env=ENV | {"PATH": path} | env, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three stages, one after the other, made by DVC."""
    folder = tmp_path_factory.mktemp("made").resolve()
    (folder / "stage.py").write_text(STAGE)
    (folder / "dvc.yaml").write_text(DEFINITION)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for command in (("init", "-q", "--no-scm"), ("repro", "-q")):
            assert dvc(*command).returncode == 0
    return folder


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the working folder."""
    folder = shutil.copytree(made, tmp_path.resolve() / "one")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def holder(project: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has signed in as Snakemake."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLDER], env=ENV, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None and process.stdout.readline() == b"in\n"
        yield process
        process.kill()


def test_beside_snakemake_other_runners_refuse_and_after_its_death_they_do_not(
    holder: subprocess.Popen[bytes], project: Path
) -> None:
    with pytest.raises(UserError, match=rf"^\(PID {holder.pid}\): snakemake: at work in this checkout"):
        runners.enter()
    with pytest.raises(UserError, match=rf"^\(PID {holder.pid}\): at work in this checkout"):
        runners.none_at_work().__enter__()
    refused = dvc("repro", "--force")
    assert refused.returncode and f"(PID {holder.pid})" in refused.stderr
    assert (project / "data/one.txt").exists(), "nothing was removed"

    locks = project / runners.SNAKEMAKE_LOCKS
    locks.mkdir(parents=True)
    (locks / "0.output.lock").write_text("data/one.txt\n")
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait(30)
    runners.enter()
    try:
        assert not locks.exists(), "of one that died on this machine"
    finally:
        runners.leave()
    with runners.none_at_work():
        refused = dvc("repro", "--force")
        assert refused.returncode and "Unable to acquire lock" in refused.stderr
        assert (project / "data/one.txt").exists()
    assert dvc("repro", "--force", "-q").returncode == 0


def test_between_two_stages_of_dvc_snakemake_refuses(project: Path) -> None:
    """DVC stands in no book then, but has its lock: its next stage would find the other at work, and fail."""
    Path("dvc.yaml").write_text(DEFINITION.replace("python stage.py", "sleep 0.3; python stage.py"))
    Path("log").unlink()
    runners.BOOK.unlink()
    too_early = 0
    with subprocess.Popen([str(Path(sys.executable).with_name("dvc")), "repro", "--force", "-q"]) as process:
        while not (project / runners.BOOK).exists():  # it is not at work yet
            assert process.poll() is None
        while process.poll() is None:
            time.sleep(0.05)  # DVC waits some seconds for its lock, and tries it twice a second
            try:
                runners.enter()
            except UserError as error:
                assert "at work" in str(error)
                continue
            too_early += Path("log").read_text().count("\n") < 3
            runners.leave()
    assert (process.returncode, too_early) == (0, 0)
    runners.enter()
    runners.leave()


def test_dvc_is_seen_while_a_stage_of_it_runs(project: Path) -> None:
    os.mkfifo("gate")
    Path("dvc.yaml").write_text("stages: {slow: {cmd: cat gate > slow.txt, outs: [slow.txt]}}")
    with subprocess.Popen([str(Path(sys.executable).with_name("dvc")), "repro", "-q"]) as process:
        with open("gate", "w", encoding="utf-8") as gate:  # opens once the stage reads
            with pytest.raises(UserError, match=rf"^\(PID {process.pid}\): at work in this checkout"):
                runners.none_at_work().__enter__()
            gate.write("done")
        assert process.wait(60) == 0
    with runners.none_at_work():
        pass


def test_a_lock_of_another_machine_stays(project: Path) -> None:
    lock = project / runners.SNAKEMAKE_LOCKS / "0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("data/one.txt\n")
    runners.HOST.write_text("elsewhere\n")
    runners.enter()
    runners.leave()
    assert lock.exists() and runners.HOST.read_text() == "elsewhere\n"


@pytest.mark.parametrize(
    ("file", "through", "after"),
    [("dvc.lock", 0, "one"), ("dvc.lock", 320, "two"), (".dvc/tmp/rwlock", 9, "two")],
)
def test_a_dvc_killed_in_the_middle_of_writing(
    project: Path, made: Path, compiled: Callable[[str], Path], file: str, through: int, after: str
) -> None:
    """Once it is mended DVC goes on with what was not recorded, and makes the same."""
    shutil.rmtree("data")
    shutil.rmtree(".dvc/cache")
    for name in ("log", "dvc.lock", ".vouch/dvc.lock"):
        Path(name).unlink()
    env = {
        "LD_PRELOAD": str(compiled("kill_in_write")),
        "KILL_FILE": str(project / file),
        "KILL_BYTES": str(through),
        "KILL_ONCE": str(project / f"data/{after}.txt"),
    }
    assert dvc("repro", **env).returncode == -signal.SIGKILL
    if through:
        assert dvc("status").returncode, "DVC does not read it"
    runners.mend()
    for command in ("status", "repro"):
        done = dvc(command)
        assert done.returncode == 0, done.stderr
    for name in ("dvc.lock", "data/one.txt", "data/two.txt", "data/three.txt"):
        assert (project / name).read_bytes() == (made / name).read_bytes()


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dvc.lock in a project of its three stages, kept as a stage keeps it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "params.yaml").write_text("{}")
    (tmp_path / "dvc.yaml").write_text(PIPELINE)
    path = tmp_path / "dvc.lock"
    path.write_text(TEXT)
    runners.mend()
    assert runners.COPY.read_text() == TEXT
    return path


def told_of_lock() -> str:
    """What every command says that reads dvc.lock."""
    try:
        read_lock()
    except UserError as error:
        return str(error)
    return ""


def test_wherever_it_was_cut_the_copy_takes_its_place(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ends = (end.end() for end in re.finditer(r"\n", TEXT[:-1]))
    for cut in sorted({*range(0, len(TEXT), 53), *ends}):
        lock.write_text(TEXT[:cut])
        runners.COPY.write_text(TEXT)
        told = told_of_lock()
        runners.mend()
        said = capsys.readouterr().err
        assert lock.read_text() == TEXT, repr(TEXT[:cut])
        assert "; its copy of the last run stands in its place" in said and said.count("\n") == 1
        if re.search(r"[^:]\n$", TEXT[:cut]):  # only the copy knows what is missing: DVC takes it
            assert told == ""
            COMPILED_LOCKFILE_SCHEMA(loads(TEXT[:cut], "dvc.lock"))
        else:
            assert "run `vouch store sync`, which mends it, then this again" in told
    for left in ("\0" * 900, TEXT[:60] + "\0" * 900, "sch" + "\0" * 9):
        lock.write_text(left)
        assert "`vouch store sync`, which mends it" in told_of_lock()
        runners.mend()
        assert lock.read_text() == TEXT


def test_stages_that_were_taken_out_stay_out(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As after `git checkout dvc.lock params.yaml` undid a further dataset."""
    Path("dvc.yaml").write_text(PIPELINE[: PIPELINE.index("  three")])
    left = TEXT[: TEXT.index("  three")]
    lock.write_text(left)
    runners.mend()
    assert lock.read_text() == runners.COPY.read_text() == left and not capsys.readouterr().err


LONG = "What is it: a kite, or another thing that flies? A text so long that DVC writes it on several lines"


@pytest.mark.parametrize(
    "value", [LONG, LONG.replace(":", ""), f"\u2028{LONG}", [LONG], {"key": LONG}, "one\ntwo\n"]
)
def test_one_that_was_cut_at_a_line_end_inside_a_value_is_cut(lock: Path, value: object) -> None:
    params = {"params.yaml": {"seed": value}}
    values = {"schema": "2.0", "stages": {name: {"cmd": "x", "params": params} for name in ("one", "two")}}
    text = dumps_yaml(values)
    for cut in (end.end() for end in re.finditer("\n", text)):
        lock.write_text(text[:cut])
        try:
            validate(parse_yaml(text[:cut], ""), COMPILED_LOCKFILE_SCHEMA)
        except DvcException:
            assert "run `vouch store sync`, which mends it" in told_of_lock(), repr(text[:cut])
        else:
            assert "not the lock file" not in told_of_lock(), repr(text[:cut])


def test_without_a_copy_a_cut_one_goes(lock: Path) -> None:
    runners.COPY.unlink()
    lock.write_text(TEXT[:-9])
    for _ in range(2):
        runners.mend()
        assert not lock.exists() and not runners.COPY.exists() and read_lock() == {}
    assert runners.REPLACED.read_text() == TEXT[:-9], "for who had written it so"


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "<<<<<<< HEAD\n" + TEXT,
        "<<<<<<< HEAD\n" + TEXT[:-1],
        "=======\n" + TEXT + ">>>>>>> other\n",
        "schema: '2.0'\nstages: {}\n",
        TEXT + "datasets:\n- name: one\n",
        "# by hand\n" + TEXT,
        "---\n" + TEXT[:-1],
        "\ufeff" + TEXT,
        TEXT.replace("schema: '2.0'\n", "") + "schema: '2.0'\n",
        "\x89PNG\n",
    ],
)
def test_a_whole_one_stays_and_one_that_is_somebodys_own(lock: Path, text: str) -> None:
    lock.write_text(text)
    before = lock.stat()
    runners.mend()
    assert lock.read_text() == text and lock.stat().st_mtime_ns == before.st_mtime_ns


def test_one_that_a_dvc_is_writing_is_left_alone(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dvc.lock.DEFAULT_TIMEOUT", 0)
    lock.write_text(TEXT[:-1])
    runners.BOOK.parent.mkdir()
    with (
        make_lock(".dvc/tmp/lock"),
        pytest.raises(UserError, match=r"^dvc: another DVC is at work"),
    ):
        runners.mend()
    assert lock.read_text() == TEXT[:-1]


@pytest.mark.parametrize("hardlink_lock", [False, True])
def test_a_book_that_was_cut_short_goes_and_dvc_has_its_locks_back(
    lock: Path, hardlink_lock: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(".dvc/config").write_text(f"[core]\n    hardlink_lock = {str(hardlink_lock).lower()}\n")
    folder = runners.BOOK.parent
    folder.mkdir()
    for text in ("", '{"write": {"', "[" * 100_000):
        lock.write_text(TEXT[:-1])
        runners.BOOK.write_text(text)
        runners.mend()
        assert not runners.BOOK.exists() and "rwlock: was cut short" in capsys.readouterr().err
        assert lock.read_text() == TEXT
        for name in ("lock", "rwlock.lock"):
            one = make_lock(str(folder / name), tmp_dir=str(folder), hardlink_lock=hardlink_lock)
            with one:
                assert one.is_locked
    book = {"write": {"data": {"pid": 2**22 + 1, "cmd": "dvc repro"}}}
    runners.BOOK.write_text(json.dumps(book))
    runners.mend()
    assert json.loads(runners.BOOK.read_text()) == book
    with runners.none_at_work():
        pass
