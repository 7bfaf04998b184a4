"""Standard streams that are closed: a stage neither fails for it, nor does what others print end up in a file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vouch.pipeline.yaml12 import load

ROOT = Path(__file__).parents[2]
WRITES = """
import os, subprocess, sys
from vouch.pipeline.streams import open_streams
open_streams()
with open("made", "wb") as made:
    os.write(1, b"of a library")
    os.write(2, b"of a library")
    subprocess.run(["sh", "-c", "echo of a program; echo of a program >&2; cat"], check=True)
    print("ours", sys.stdin.read(), file=sys.stderr, flush=True)
    made.write(b"whole")
"""


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_nothing_that_is_printed_gets_into_a_file(tmp_path: Path, closed: str) -> None:
    (tmp_path / "run.py").write_text(WRITES, "utf-8")
    subprocess.run(
        ["sh", "-c", f'"$0" run.py {closed}', sys.executable],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        check=True,
    )
    assert (tmp_path / "made").read_bytes() == b"whole"


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_a_stage_runs_without_them(tmp_path: Path, closed: str) -> None:
    """This one shows how far it is, on stderr."""
    (tmp_path / "stages").symlink_to(ROOT / "stages")
    (tmp_path / "vouch").symlink_to(ROOT / "vouch")
    shutil.copytree(ROOT / "decisions", tmp_path / "decisions")
    for name in ("dvc.yaml", "models.lock"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copy(ROOT / "profiles/small.yaml", tmp_path / "params.yaml")
    dataset = next(iter(load(tmp_path / "params.yaml")["datasets"]))
    subprocess.run(
        ["sh", "-c", f'"$0" -m stages.prepare {dataset} {closed}', sys.executable],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert (tmp_path / f"data/items/{dataset}.parquet").is_file()
