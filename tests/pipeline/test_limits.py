"""Limits of a machine: one line that names the limit, and no word against files that are whole."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.conftest import ENV
from vouch.pipeline.yaml12 import load

NO_THREADS = "ulimit -s 40000000 && ulimit -v 30000000"  # a thread's stack would be larger than all memory
ONE_LINE = "vouch: no further thread may be started; end other programs, or allow more"


def python(project: Path, command: str, limit: str = "true") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f'{limit} && exec "$0" -m {command}', sys.executable],
        cwd=project,
        env=ENV | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux limits threads")
def test_no_further_thread_is_one_line(project: Path) -> None:
    """Python says so of its own threads, Arrow of a table that it calls unreadable."""
    if subprocess.run(["sh", "-c", NO_THREADS], check=False, capture_output=True).returncode:
        pytest.skip("the limit of stacks cannot be raised here")
    dataset = next(iter(load(project / "params.yaml")["datasets"]))
    assert python(project, f"stages.prepare {dataset}").returncode == 0
    for command in (f"stages.prepare {dataset}", f"stages.embed {dataset}", "vouch.cli.main plan"):
        ran = python(project, command, NO_THREADS)
        assert ran.returncode == 1
        assert ran.stderr.splitlines()[-1].startswith(ONE_LINE) and "Traceback" not in ran.stderr, ran.stderr
    assert python(project, f"stages.embed {dataset}").returncode == 0, "nothing is damaged"
