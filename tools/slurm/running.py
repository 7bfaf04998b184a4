"""Checkouts that a Slurm runs, the Snakemakes that submit their jobs, and what all of them must end with."""

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


class Bed:
    """A checkout with prompts and models, its copies, one for each run, and what is expected of them."""

    def __init__(self, folder: Path, log: Log) -> None:
        self.folder, self.log = folder, log
        self.expected: dict[str, str] = {}

    def begin(self) -> None:
        """Prompts and models without Slurm, where all runs begin."""
        self.begun = Slurmed(self.folder / "begun")
        self.begun.small()
        prompts = [f"data/prompts/{name}.parquet" for name in DATASETS]
        pins = [f"data/models/{name}.json" for name in MODELS]
        self.begun.run("snakemake", "--cores", "2", *prompts, *pins)

    def reference(self) -> None:
        """Begins what DVC makes of them without Slurm, beside the others."""
        self.log("three datasets and three models are made; from here on, each run on a copy of them")
        self.by_dvc = self.begun.again("dvc")
        self.repro = self.by_dvc.dvc_repro()

    def _expected(self) -> dict[str, str]:
        """What that made."""
        self.repro.end()
        done, expected = self.repro.said.count("Running stage"), self.by_dvc.digests()
        self.log(f"dvc repro, without Slurm: {done} stages, {len(expected)} files with those there already")
        return expected

    def same(self, what: str, checkout: Slurmed, *running: Running) -> None:
        """Compares what a run ended with. Raises RuntimeError where they differ or more is planned."""
        self.expected = self.expected or self._expected()
        found = checkout.digests()
        different = sorted(
            name for name in {*found, *self.expected} if found.get(name) != self.expected.get(name)
        )
        counted = "; ".join(one.counts() for one in running)
        if different:
            raise RuntimeError(f"{what}: {counted}; not the same: {different[:5]}")
        self.log(f"{what}: {counted}; {len(found)} files, the same bytes as of dvc repro")
        waiting, state = checkout.planned(), checkout.dvc_status()
        if waiting or state:
            raise RuntimeError(f"{what}: not everything is known to be done: {sorted(waiting)[:5]} {state}")
        self.log("snakemake -n and dvc status: nothing to do")
