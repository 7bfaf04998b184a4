"""`vouch watch` beside real stages: what runs, what is done, what failed, on a terminal and in a log."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.checkouts.checkout import Checkout
from tests.cli.conftest import Vouch
from vouch.cli.watch import duration, speed
from vouch.pipeline.live import RUNNING

TRAIN = [sys.executable, "-m", "stages.train", "tiny_a"]
WATCH = [sys.executable, "-m", "vouch.cli.main", "watch"]


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A checkout in which nothing has run, which is the present folder."""
    copy = Checkout(tmp_path / "one")
    monkeypatch.chdir(copy.path)
    for name, value in copy.env.items():
        monkeypatch.setenv(name, value)
    return copy


def at_work(stage: subprocess.Popen[bytes]) -> dict[str, float]:
    """Waits until the stage has said how far it is, and stops it there; its record."""
    path = RUNNING / "train-tiny_a.json"
    while stage.poll() is None:
        record = json.loads(path.read_text("utf-8")) if path.exists() else {}
        if record.get("done"):
            stage.send_signal(signal.SIGSTOP)
            found: dict[str, float] = json.loads(path.read_text("utf-8"))
            return found
        time.sleep(0.05)
    raise AssertionError("the stage ended before it said anything")


def test_a_stage_that_runs_is_killed_and_runs_again(copied: Checkout, vouch: Vouch) -> None:
    nothing = vouch("watch", "--once")
    assert nothing == "watch: 0 of 25 stages done\n"
    with subprocess.Popen(TRAIN, stderr=subprocess.DEVNULL) as stage:
        try:
            record = at_work(stage)
            out = vouch("watch", "--once")
        finally:
            stage.kill()
    assert "0 of 25 stages done; train@tiny_a for " in out
    assert f", {record['done']}/{record['total']}, " in out and "/s, " in out and out.endswith(" left\n")
    assert "failed: train@tiny_a: was killed; run it again" in vouch("watch", "--once")
    with subprocess.Popen([*WATCH, "--every", "0.1"], stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout and "failed: train@tiny_a" in watching.stdout.readline()
        copied.dvc("repro", "train@tiny_a")
        while " 1 of 25 stages done" not in (said := watching.stdout.readline()):
            assert said, "the watching ended"
        watching.terminate()
    assert vouch("watch", "--once") == "watch: 1 of 25 stages done\n" and not any(RUNNING.glob("*.json"))


def test_an_error_stays_until_the_stage_has_run_again(copied: Checkout, vouch: Vouch) -> None:
    copied.dvc("repro", "prepare@left")
    items = Path("data/items/left.parquet")
    whole = items.read_bytes()
    items.write_bytes(whole[:-1])
    rewrite = [sys.executable, "-m", "stages.rewrite", "left"]
    failed = subprocess.run(rewrite, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    out = vouch("watch", "--once")
    assert "failed: rewrite@left: data/items/left.parquet: " in out and out.count("\n") == 1
    items.write_bytes(whole)
    subprocess.run(rewrite, capture_output=True, check=True)
    assert vouch("watch", "--once") == "watch: 2 of 25 stages done\n"


def test_on_a_terminal(copied: Checkout) -> None:
    """One table, kept up to date: the same words, drawn in place."""
    main, inner = pty.openpty()
    with subprocess.Popen(TRAIN, stderr=subprocess.DEVNULL) as stage:
        try:
            at_work(stage)
            environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
            watching = subprocess.Popen(
                [*WATCH, "--every", "0.1"], stdout=inner, stderr=inner, env=environment
            )
            shown = b""
            while shown.count(b"train@tiny_a") < 2:
                shown += os.read(main, 4096)
        finally:
            stage.kill()
            watching.terminate()
            watching.wait()
    assert b"0 of 25 stages done" in shown and b"a second" in shown and b"watch:" not in shown


@pytest.mark.parametrize(("seconds", "said"), [(4.4, "4 s"), (185, "3 min 5 s"), (7800, "2 h 10 min")])
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_the_speed_of_a_stage() -> None:
    assert speed({"done": 30, "total": 90, "since": 100.0, "at": 110.0}) == ("30/90", "3.0/s", "20 s")
    assert speed({"done": 30, "total": None, "since": 100.0, "at": 110.0}) == ("30", "3.0/s", "")
    assert speed({}) == ("", "", "")
