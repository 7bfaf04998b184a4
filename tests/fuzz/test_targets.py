"""A few hundred damaged files for each reader; `make fuzz` goes on from there."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.fuzz.__main__ import Log
from tests.fuzz.judging import Report, fuzz, judged, load, targets
from tests.fuzz.mutate import mutated
from vouch.pipeline.errors import UserError

EXAMPLES = 150


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The log of all targets: in a process of its own, whose children are made before it has threads."""
    folder = tmp_path_factory.mktemp("fuzz")
    command = [sys.executable, "-m", "tests.fuzz", "--examples", str(EXAMPLES), "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.stderr == ""
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return {one["target"]: one for one in map(json.loads, lines)}


@pytest.mark.parametrize("name", targets())
def test_damage_is_a_clean_result_or_one_line(name: str, turns: dict[str, dict[str, Any]]) -> None:
    assert turns[name]["crashes"] == []
    assert turns[name]["examples"] == EXAMPLES


@pytest.mark.parametrize("name", targets())
def test_what_is_damaged_was_valid(name: str, tmp_path: Path) -> None:
    target = load(name)
    assert judged(target, target.CORPUS()[0], tmp_path) == ("", False)


def test_a_log_goes_on_where_it_ends(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.keep(Report("a", 0, seconds=20.5, crashes=[{"what": "it broke", "data": "00ff"}]))
    log.keep(Report("a", 4, seconds=2.0))
    with (tmp_path / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"target": "a", "se')
    again = Log(tmp_path)
    assert (again.seed("a"), again.seconds("a"), again.seed("b")) == (5, 22.5, 0)
    assert [path.read_bytes() for path in tmp_path.glob("a-*")] == [b"\x00\xff"]


def test_the_same_seed_makes_the_same_files() -> None:
    first, second = (
        [mutated(random.Random(f"{n}"), [b'{"a": [1, "x"]}', b"a\tb"], [b"w"]) for n in range(200)]
        for _ in range(2)
    )
    assert first == second
    assert len(set(first)) > 150


def _raises(data: bytes, folder: Path) -> None:
    raise KeyError("x")


def _loops(data: bytes, folder: Path) -> None:
    while True:
        pass


def _takes_memory(data: bytes, folder: Path) -> None:
    bytearray(4 << 30)


def _dies(data: bytes, folder: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hears_nothing(data: bytes, folder: Path) -> None:
    signal.signal(signal.SIGPROF, signal.SIG_IGN)
    _loops(data, folder)


def _works(data: bytes, folder: Path) -> None:
    end = time.process_time() + 0.5
    while time.process_time() < end:
        sum(range(1000))


def _refuses(data: bytes, folder: Path) -> None:
    raise UserError("x line 1: wrong; correct it")


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (_raises, "KeyError: 'x'"),
        (_loops, "too slow"),
        (_works, "too slow"),
        (_hears_nothing, "the process ended"),
        (_takes_memory, "too much memory"),
        (_dies, "the process ended"),
        (_refuses, None),
    ],
)
def test_what_is_a_crash(monkeypatch: pytest.MonkeyPatch, read: object, says: str | None) -> None:
    target = ModuleType("target")
    vars(target).update(CORPUS=lambda: [b"x"], read=read)
    monkeypatch.setattr("tests.fuzz.judging.load", lambda name: target)
    for name, value in {"SECONDS": 0.2, "_STUCK": 0.6, "_LOOK": 0.2}.items():
        monkeypatch.setattr(f"tests.fuzz.judging.{name}", value)
    report = fuzz("any", 0, 60.0, 1)
    assert report.examples == 1
    assert [says in crash["what"] for crash in report.crashes if says] == ([True] if says else [])
    assert bool(report.crashes) is (says is not None)
    assert all(crash["data"] == b"x".hex() for crash in report.crashes)
