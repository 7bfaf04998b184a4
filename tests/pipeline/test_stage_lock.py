"""One run of a stage at a time; what killed runs left goes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from vouch.pipeline.dag import Stage
from vouch.pipeline.errors import UserError
from vouch.pipeline.stage_lock import turn

ROOT = Path(__file__).parents[2]
STAGE = Stage("report", "python -m stages.report", (), ("reports/figures", "reports/metrics.json"), {})
HOLDER = """
from vouch.pipeline.stage_lock import turn
from tests.pipeline.test_stage_lock import STAGE
with turn(STAGE):
    print("held", flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_turn_of_a_killed_run_ends_with_it(here: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], cwd=here, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(
                UserError,
                match=r"^report: another run(?: \(process \d+ on [^)]+\))? has been at work for 0 s; wait",
            ),
            turn(STAGE, 0),
        ):
            pass
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait(30)
    with turn(STAGE, 0) as waited:
        assert not waited


def test_what_killed_runs_of_the_stage_left_goes(here: Path) -> None:
    folder = here / "reports/.figures.123.part/deep"
    folder.mkdir(parents=True)
    (folder / "accuracy.svg").write_text("half")
    receipt = here / ".vouch/receipts/.report.json.123.part"
    receipt.parent.mkdir(parents=True)
    others = [here / "reports/.tables.123.part", here / "reports/figures.part"]
    for path in (here / "reports/.metrics.json.9.part", receipt, *others):
        path.write_text("half")
    with turn(STAGE):
        left = list(here.rglob("*.part"))
    assert sorted(left) == sorted(others), "of other stages, and what has no temporary name, stays"
