"""Checkouts that a Slurm runs, the Snakemakes that submit their jobs, and the log of what happened."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.checkouts.checkout import Checkout
from tests.checkouts.small import small

MODELS, DATASETS = ("tiny_a", "tiny_b", "tiny_c"), ("left", "right", "third")
LIMIT = 2400.0  # seconds of one run
SNAKEMAKE = ["snakemake", "--workflow-profile", "profiles/slurm"]
# What makes waiting shorter on a machine without a queue, and asks squeue: `sacct` needs a database.
QUICK = [
    "--slurm-init-seconds-before-status-checks=1",
    "--seconds-between-status-checks=1",
    "--latency-wait=5",
    "--slurm-status-command=squeue",
]
STARTED: list[subprocess.Popen[Any]] = []


def end_all() -> None:
    """Ends what this program has started and what that has."""
    for process in STARTED:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Log:
    """Lines with the seconds since the start, printed and kept."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._start = path, time.monotonic()
        self.lines: list[str] = []

    def __call__(self, text: str) -> None:
        for line in text.splitlines():
            self.lines.append(f"{time.monotonic() - self._start:6.0f} s  {line}".rstrip())
            print(self.lines[-1], flush=True)
        if self._path:
            self._path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")


class Slurmed(Checkout):
    """A checkout that a Slurm runs: three models, three datasets."""

    def small(self) -> None:
        """The small profile with a third model and dataset."""
        third = {"loader": "shapes", "source": "vouch/demo/scenes", "template": "kostumov"}
        datasets = {"left": None, "right": None, "third": {**third, "settings": {"seed": 3, "items": 16}}}
        text = small(train=MODELS, datasets=datasets, variations=["original", "option_order"])
        (self.path / "params.yaml").write_text(text, "utf-8")
        self.commit("three models, three datasets")

    def again(self, name: str) -> "Slurmed":
        """A copy beside it."""
        return self.copy(self.path.parent / name)

    def start(self, *more: str) -> "Running":
        """A Snakemake that submits jobs."""
        return Running(self, [*SNAKEMAKE, *QUICK, *more])

    def dvc_repro(self, *more: str) -> "Running":
        """`dvc repro`, without Slurm."""
        return Running(self, ["dvc", "repro", *more])


class Running:
    """One of the runners at work in a checkout."""

    def __init__(self, checkout: Slurmed, command: list[str]) -> None:
        self.name = command[0]
        self.output = checkout.path.parent / f"{checkout.path.name}-{time.monotonic_ns()}.log"
        with self.output.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=checkout.path,
                env=checkout.env,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        STARTED.append(self.process)

    @property
    def said(self) -> str:
        """What it has printed so far, errors included."""
        return self.output.read_text("utf-8", errors="replace")

    def until(self, what: str, ready: Callable[[], object]) -> None:
        """Waits until something is so."""
        deadline = time.monotonic() + LIMIT
        while not ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"slurm: it never came to {what}: {self.said[-3000:]}")
            time.sleep(0.5)

    def end(self) -> None:
        """Waits for its end, which must be good."""
        status = self.process.wait(LIMIT)
        if status:
            raise RuntimeError(f"slurm: {self.name} gave {status}: {self.said[-6000:]}")

    def counts(self) -> str:
        """How many jobs it has submitted, in words."""
        submitted = len(re.findall(r"has been submitted with SLURM jobid", self.said))
        again = len(re.findall(r"Trying to restart job", self.said))
        return f"{submitted} jobs submitted, {again} of them again"
