"""Ctrl-C while a program imports: one line (or none for commands), never a traceback."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.checkouts.checkout import ROOT
from vouch.pipeline.interruption import STAGE, STATUS

PROGRAMS = {
    "stage": ((sys.executable, "-m", "stages.report"), f"{STAGE}\n"),
    "stage with keys": ((sys.executable, "-m", "stages.extract", "tiny_a", "left"), f"{STAGE}\n"),
    "command": ((str(Path(sys.executable).parent / "vouch"), "plan"), ""),
}
# An import that tells that it has begun, and then takes long. `site` reads it before anything of the program.
SLOW = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "argparse" or name == "vouch.params.start":
            open("begun", "w").close()
            time.sleep(60)
sys.meta_path.insert(0, Slow())
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_import_is_interrupted_in_one_line(name: str, tmp_path: Path) -> None:
    command, line = PROGRAMS[name]
    (tmp_path / "sitecustomize.py").write_text(SLOW, "utf-8")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    process = subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (STATUS, line)


def test_a_library_keeps_its_own_ctrl_c() -> None:
    """Who imports the stages or commands from another program gets KeyboardInterrupt, as before."""
    code = "import signal, stages, vouch.cli; print(signal.getsignal(2) is signal.default_int_handler)"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
