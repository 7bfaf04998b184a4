"""Snakemake in DVC's book of who works where: real processes, the real DVC."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vouch.pipeline import engines
from vouch.pipeline.errors import UserError

ROOT = Path(__file__).parents[2]
DEFINITION = "stages: {one: {cmd: mkdir -p data && echo 1 > data/one.txt, outs: [data/one.txt]}}"
HOLDER = "from vouch.pipeline.engines import enter; enter(); print('in', flush=True); input()"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one stage, made by DVC."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "dvc.yaml").write_text(DEFINITION)
    for command in (("init", "-q", "--no-scm"), ("repro", "-q")):
        assert dvc(folder, *command).returncode == 0
    return folder


@pytest.fixture(autouse=True)
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def holder(project: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has entered."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], cwd=project, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"in\n"
        yield process
        process.kill()


def dvc(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("dvc")), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_while_one_works_others_refuse_and_after_its_death_they_do_not(
    holder: subprocess.Popen[bytes], project: Path
) -> None:
    with pytest.raises(UserError, match=rf"^\(PID {holder.pid}\): snakemake: at work in this checkout"):
        engines.enter()
    refused = dvc(project, "repro", "--force")
    assert refused.returncode and f"(PID {holder.pid})" in refused.stderr
    assert (project / "data/one.txt").exists(), "nothing was removed"

    locks = project / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").write_text("data/one.txt\n")
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait(30)
    engines.enter()
    try:
        assert not locks.exists(), "of one that died on this machine"
    finally:
        engines.leave()
    assert dvc(project, "repro", "--force", "-q").returncode == 0


def test_who_removes_outputs_refuses_while_an_engine_works_and_keeps_others_out(
    holder: subprocess.Popen[bytes], project: Path
) -> None:
    with pytest.raises(UserError, match=rf"^\(PID {holder.pid}\): at work in this checkout"):
        engines.none_at_work().__enter__()
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait(30)
    with engines.none_at_work():
        refused = dvc(project, "repro", "--force")
        assert refused.returncode and "Unable to acquire lock" in refused.stderr
        assert (project / "data/one.txt").exists()
    assert dvc(project, "repro", "--force", "-q").returncode == 0


def test_dvc_is_seen_while_a_stage_of_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("gate")
    Path("dvc.yaml").write_text("stages: {slow: {cmd: cat gate > slow.txt, outs: [slow.txt]}}")
    assert dvc(tmp_path, "init", "-q", "--no-scm").returncode == 0
    with subprocess.Popen([str(Path(sys.executable).with_name("dvc")), "repro", "-q"]) as process:
        with open("gate", "w", encoding="utf-8") as gate:  # opens once the stage reads
            with pytest.raises(UserError, match=rf"^\(PID {process.pid}\): at work in this checkout"):
                engines.none_at_work().__enter__()
            gate.write("done")
        assert process.wait(60) == 0
    assert Path("slow.txt").read_text() == "done"
    with engines.none_at_work():
        pass


def test_a_lock_of_another_machine_stays(project: Path) -> None:
    lock = project / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text("data/one.txt\n")
    engines.HOST.parent.mkdir(exist_ok=True)
    engines.HOST.write_text("elsewhere\n")
    engines.enter()
    engines.leave()
    assert lock.exists() and engines.HOST.read_text() == "elsewhere\n"
