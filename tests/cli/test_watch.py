"""`vouch watch` beside real stages: what runs, what is done, what failed, on a terminal and in a log."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from tests.checkouts.checkout import Checkout
from tests.cli.conftest import Vouch, enter
from vouch.cli.command import Parser, commands, imported
from vouch.cli.main import main
from vouch.cli.watch import RunningStage, Seen, Watch, duration, line, screen, speed
from vouch.pipeline.dag import Dag, Stage, read_dag
from vouch.pipeline.records import local_record
from vouch.pipeline.run import RUNNING

TRAIN = [sys.executable, "-m", "stages.train", "tiny_a"]
WATCH = [sys.executable, "-m", "vouch.cli.main", "watch"]


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A checkout in which nothing has run, which is the present folder."""
    return enter(Checkout(tmp_path / "one"), monkeypatch)


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


def test_what_the_last_runs_took(bare: Path, vouch: Vouch) -> None:
    assert vouch("watch", "--times").startswith("no stage has run on this machine")
    engine = {"device": "server", "input_tokens": 1200, "output_tokens": 30, "cost": 0.5}
    records = {
        "extract@tiny_a-left": {
            "seconds": 3700.0,
            "processor_seconds": 60,
            "measured": {"answers": {"known": 3, "asked": 1500}, "engine": engine},
        },
        "extract@tiny_b-left": {"seconds": 50, "measured": {"answers": {"known": 9, "asked": 0}}},
        "compare": {"seconds": 2, "processor_seconds": 1.5, "measured": {}},
        "report": {"seconds": -1},
        "embed_texts": {"seconds": "NaN"},
        "prepare@right": {"stage": "vary@right", "seconds": 1},
        "vary@left": {"seconds": 1e300},
        "vary@right": {"seconds": 1, "measured": {"answers": {"known": -5}}},
        "score@left": {"seconds": 1, "measured": {"engine": {"output_tokens": 10**30}}},
    }
    dag = read_dag()
    for name, record in records.items():
        path = local_record(dag[name])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"stage": name, "began": "2026-01-01T00:00:00Z", **record}), "utf-8")
    local_record(dag["prepare@left"]).write_bytes(b"\xff{")
    os.mkfifo(local_record(dag["score@right"]))
    text = vouch("watch", "--times")
    head, _, *rows = text.splitlines()
    heads = ["kind of stage", "stages", "time", "processor", "answers asked", "known before"]
    assert re.split("  +", head.strip()) == heads
    assert [" ".join(row.split()) for row in rows[:3]] == [
        "extract 2 1 h 2 min 1 min 0 s 1,500 12",
        "compare 1 2 s 2 s",
        "all 3 1 h 2 min 1 min 2 s 1,500 12",
    ]
    assert rows[3] == "longest: extract@tiny_a-left 1 h 1 min, extract@tiny_b-left 50 s, compare 2 s"
    assert "1,200 tokens read, 30 written, for 0.50 at VOUCH_PRICE_INPUT" in text
    assert max(map(len, text.splitlines())) <= 80


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
    record = RunningStage(stage="a", pid=1, host="b", began=0.0)
    assert speed(record) == ("", "", "")
    record = record.model_copy(update={"done": 30, "since": 100.0, "at": 110.0})
    assert speed(record) == ("30", "3.0/s", "")
    assert speed(record.model_copy(update={"total": 90})) == ("30/90", "3.0/s", "20 s")


@pytest.mark.parametrize(
    "facts",
    [
        {"done": 5, "total": 9, "since": 2e9, "at": 1e9}, {"done": 9, "total": 5, "since": 1e9, "at": 2e9},
        {"done": 5, "total": 0, "since": 1e9, "at": 1e9}, {"done": 0, "total": 0, "since": 0.0, "at": 0.0},
        {"done": 2**53 - 1, "total": 2**53 - 1, "since": 0.0, "at": 1e-300}, {"began": 9e10}, {"began": 0.0},
        {"done": 1, "since": 0.0, "at": 9e10, "total": 2**53 - 1},
    ],
    ids=str,
)  # fmt: skip
def test_whatever_a_record_says_is_shown(facts: dict[str, float]) -> None:
    """Clocks are set back and forth, and a program counts more than it announced."""
    record = RunningStage(**{"stage": "train@a", "pid": 1, "host": "b", "began": 1e9, **facts})
    seen = Seen(1, 0, running=[record], failed=[record])
    said = line(seen)
    assert "train@a for " in said and "-" not in said and len(said) < 200
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        Console(file=nowhere, force_terminal=True).print(screen(seen))


@pytest.mark.parametrize(
    "every", ["-1", "0", "0.01", "nan", "inf", "-inf", "1e400", "1e9", "1e-400", "", "x", "1,5", "\u0661e9"]
)
def test_what_is_no_time_to_wait(capsys: pytest.CaptureFixture[str], every: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["watch", "--every", every])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.count("\n") == 1 and "--every" in said


@pytest.mark.parametrize("every", ["0.1", "60", "1e3"])
def test_times_to_wait(every: str) -> None:
    parser = Parser(imported(commands()[""]["watch"]))
    assert parser.parse_args(["--every", every]).every == float(every)


def test_a_gpu_that_does_not_say_its_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = tmp_path / "nvidia-smi"
    said.write_text("#!/bin/sh\necho '0, 1024, 2048'\necho '1, [N/A], [N/A]'\necho broken\n", "utf-8")
    said.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert Watch(Dag([]), set()).look().gpus == ["GPU 0: 1.0 of 2.0 GiB"]


@pytest.mark.parametrize(
    "damage",
    [
        {"pid": "x"}, {"pid": 10**20}, {"pid": None}, {"stage": [1]}, {"began": "yesterday"},
        {"began": float("nan")}, {"done": "x"}, {"began": 0.0, "pid": 1}, {"began": 10**400}, {"began": -1.0},
        {"done": 10**400}, {"done": -1}, {"total": 10**30}, {"since": 1e300}, {"at": "now"}, {"error": 5},
    ],
    ids=str,
)  # fmt: skip
def test_a_damaged_record_or_a_reused_number_is_no_running_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: dict[str, object]
) -> None:
    monkeypatch.chdir(tmp_path)
    RUNNING.mkdir(parents=True)
    told = {"stage": "train@a", "pid": os.getpid(), "host": socket.gethostname(), "began": time.time()}
    watch_ = Watch(Dag([Stage("train@a", "true", (), (), {})]), set())
    path = RUNNING / "train-a.json"
    path.write_text(json.dumps(told), "utf-8")
    assert [one.stage for one in watch_.look().running] == ["train@a"]
    path.write_text(json.dumps(told | damage), "utf-8")
    assert not watch_.look().running
    path.unlink()
    os.mkfifo(path)
    assert not watch_.look().running, "and nothing waits for a pipe"
