"""How tools end, and what their logs are worth after a run that was killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checkouts.checkout import Checkout
from tools.ending import add_line, ended, read_lines
from vouch.pipeline.errors import UserError


@pytest.fixture(autouse=True)
def _handlers() -> object:
    """ended() listens to SIGTERM, which pytest's process should not do for long."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def _stopped(number: int) -> Callable[[], int]:
    def main() -> int:
        os.kill(os.getpid(), number)
        raise AssertionError("it went on")

    return main


def _refused() -> int:
    raise UserError("params.yaml: no such file; write it")


def _late() -> int:
    raise subprocess.TimeoutExpired(["dvc", "repro"], 900)


@pytest.mark.parametrize(
    ("main", "status", "says"),
    [
        (lambda: 0, 0, ""),
        (lambda: 1, 1, ""),
        (_stopped(signal.SIGINT), 130, "tool: stopped; do it again\n"),
        (_stopped(signal.SIGTERM), 130, "tool: stopped; do it again\n"),
        (_refused, 1, "tool: params.yaml: no such file; write it\n"),
        (_late, 1, "tool: dvc repro: took more than 900 s; do it again\n"),
        (
            lambda: len(Path("/no/such").read_bytes()),
            1,
            "tool: /no/such: No such file or directory; correct it, then do it again\n",
        ),
    ],
)
def test_a_tool_ends_with_one_line(
    main: Callable[[], int], status: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended("tool", main, "do it again") == status
    assert capsys.readouterr().err == says


def test_what_a_command_said_comes_before_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def main() -> int:
        script = "import sys; print('\\n'.join(map(str, range(100)))); sys.exit(3)"
        return Checkout.at(tmp_path).run(sys.executable, "-c", script).returncode

    assert ended("tool", main, "do it again") == 1
    said = capsys.readouterr().err.splitlines()
    assert "99" in said and "50" not in said and "Traceback" not in "".join(said)
    assert said[-1].startswith("tool: ") and said[-1].endswith(" gave 3; correct it, then do it again")


@pytest.mark.parametrize("half", [b'{"a": 2, "b', b"17", b'"\xff', b""])
def test_half_a_line_costs_nothing_but_itself(half: bytes, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    assert read_lines(log) == []
    add_line(log, {"a": 1})
    with log.open("ab") as file:
        file.write(half)
    assert read_lines(log) == [{"a": 1}]
    add_line(log, {"a": 3})
    assert read_lines(log) == [{"a": 1}, {"a": 3}]
