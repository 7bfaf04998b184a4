"""Stages in a container: Snakemake with a stand-in for Apptainer, which starts the command it is given."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.checkouts.checkout import ROOT, Checkout

STANDIN = """#!/bin/bash
echo "$@" >> {log}
if [ "$1" = --version ]; then echo "apptainer version 1.3.4"; exit; fi
while [ $# -gt 0 ] && [ "$1" != bash ]; do shift; done
exec "$@"
"""


def test_stages_run_in_the_image_that_is_named(tmp_path: Path) -> None:
    here, log, image = Checkout(tmp_path / "one"), tmp_path / "log", tmp_path / "image.sif"
    image.touch()
    for name in ("apptainer", "singularity"):  # Snakemake knows both names
        (tmp_path / name).write_text(STANDIN.format(log=log), "utf-8")
        (tmp_path / name).chmod(0o755)
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--software-deployment-method", "apptainer"]
    command += ["--config", f"image={image}", "--apptainer-args=--nv", "--", "prepare"]
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=here.path, env=here.env | path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    runs = [line for line in log.read_text("utf-8").splitlines() if line.startswith("exec")]
    assert {line.partition(" python ")[2] for line in runs} == {
        f"-m stages.prepare {x}" for x in ("left", "right")
    }
    assert all(f"{image} bash" in line and "--nv" in line for line in runs)
    assert (here.path / "data/items/left.parquet").exists()


def test_the_image_gets_what_the_installation_reads(tmp_path: Path) -> None:
    """`make install` needs these and nothing else; the rest stays out of the image."""
    names = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line[:1] == "!"]
    for name in names:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    shown = subprocess.run(
        ["make", "-n", "install"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "tools/install.py" in shown.stdout
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert {"README.md", "LICENSE", "uv.lock", "vouch"} <= {
        *names
    } and 'license-files = ["LICENSE"]' in project
