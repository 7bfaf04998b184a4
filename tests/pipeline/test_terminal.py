"""Progress where there is no terminal, and standard streams that are closed."""

import logging
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tests.pipeline.conftest import ENV
from vouch.pipeline import terminal
from vouch.pipeline.terminal import progress, warnings_aside
from vouch.pipeline.yaml12 import load

WRITES = """
import os, subprocess, sys
from vouch.pipeline.terminal import open_streams
open_streams()
with open("made", "wb") as made:
    os.write(1, b"of a library")
    os.write(2, b"of a library")
    subprocess.run(["sh", "-c", "echo of a program; echo of a program >&2; cat"], check=True)
    print("ours", sys.stdin.read(), file=sys.stderr, flush=True)
    made.write(b"whole")
"""


def test_items_pass_unchanged_and_quickly_done_work_is_silent(capfd):
    assert list(progress(range(5), 5, "work")) == [0, 1, 2, 3, 4]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("total", [4, None, 0])
def test_slow_work_writes_plain_lines(capfd, monkeypatch, total):
    monkeypatch.setattr(terminal, "_SECONDS_BETWEEN_LINES", 0.0)
    list(progress(range(4), total, "work"))
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == "" and len(lines) == 4 and lines[-1].startswith("work: 4") and "\r" not in err
    assert ("of 4 (100%)" in lines[-1]) == (total == 4)


def run(folder: Path, command: str) -> None:
    subprocess.run(
        ["sh", "-c", f'"$0" {command}', sys.executable],
        cwd=folder,
        env=ENV,
        stdin=subprocess.DEVNULL,
        check=True,
    )


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_nothing_that_is_printed_gets_into_a_file(tmp_path: Path, closed: str) -> None:
    (tmp_path / "run.py").write_text(WRITES, "utf-8")
    run(tmp_path, f"run.py {closed}")
    assert (tmp_path / "made").read_bytes() == b"whole"


@pytest.mark.parametrize(("encoding", "seen"), [("ascii", b"\\u2026 \\xe4"), ("latin-1", b"\\u2026 \xe4")])
def test_what_a_terminal_cannot_write_is_escaped(encoding: str, seen: bytes) -> None:
    code = "from vouch.pipeline.terminal import open_streams; open_streams(); print('\u2026 \xe4')"
    shown = subprocess.check_output([sys.executable, "-c", code], env=ENV | {"PYTHONIOENCODING": encoding})
    assert shown.strip() == seen


def test_a_stage_runs_without_them(project: Path) -> None:
    """This one shows how far it is, on stderr."""
    dataset = next(iter(load(project / "params.yaml")["datasets"]))
    run(project, f"-m stages.prepare {dataset} <&- >&- 2>&-")
    assert (project / f"data/items/{dataset}.parquet").is_file()


def test_warnings_of_libraries_are_kept_and_not_shown(capfd, monkeypatch):
    def warn():
        for _ in range(2):
            warnings.warn("of a library", stacklevel=1)
            logging.getLogger("a.library").warning("and its\nlog")

    monkeypatch.setattr(sys, "warnoptions", [])
    with warnings_aside() as said:
        warn()
    assert len(said) == 2 and "UserWarning: of a library" in said[0] and said[1] == "and its log"
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("VOUCH_TRACEBACK", "1")
    with pytest.warns(UserWarning), warnings_aside() as said:
        warn()
    assert said == []
