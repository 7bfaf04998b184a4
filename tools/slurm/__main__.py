"""`make slurm`: the pipeline on a real Slurm of this machine, disturbed and not; the same bytes each time.

python -m tools.slurm [LOG]   from the root of the checkout. LOG: a copy of what is printed.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from tests.pipeline.checkout import Checkout
from tools.slurm.cluster import Cluster, check

LIMIT = 2400.0  # seconds of one run
SNAKEMAKE = ["snakemake", "--workflow-profile", "profiles/slurm"]
# What makes waiting shorter on a machine without a queue, and asks squeue: `sacct` needs a database.
QUICK = [
    "--slurm-init-seconds-before-status-checks=1",
    "--seconds-between-status-checks=1",
    "--latency-wait=5",
    "--slurm-status-command=squeue",
]
STARTED: list[subprocess.Popen[Any]] = []  # ended with this program, whatever happens


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

    @property
    def env(self) -> dict[str, str]:
        env = super().env
        further = os.environ.get("PYTHONPATH", "")
        return env | {"PYTHONPATH": os.pathsep.join(filter(None, [env["PYTHONPATH"], further]))}

    def small(self) -> None:
        """The small profile with a third model and dataset."""
        path = self.path / "params.yaml"
        params = yaml.safe_load(path.read_text("utf-8"))
        params["zoo"]["tiny_c"] = {**params["zoo"]["tiny_b"], "seed": 2}
        params["models"].append("tiny_c")
        params["datasets"]["third"] = {**params["datasets"]["left"], "settings": {"seed": 3, "items": 16}}
        params["variations"] = ["original", "option_order"]
        path.write_text(yaml.safe_dump(params, sort_keys=False), "utf-8")
        self.commit("three models, three datasets")

    def start(self, *more: str) -> "Running":
        return Running(self, more)


class Running:
    """A Snakemake that submits jobs."""

    def __init__(self, checkout: Slurmed, more: tuple[str, ...]) -> None:
        self.output = checkout.path.parent / f"{checkout.path.name}-{time.monotonic_ns()}.log"
        with self.output.open("wb") as log:
            self.process = subprocess.Popen(
                [*SNAKEMAKE, *QUICK, *more],
                cwd=checkout.path,
                env=checkout.env,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        STARTED.append(self.process)

    @property
    def said(self) -> str:
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
        try:
            status = self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait()
            raise
        if status:
            raise RuntimeError(f"slurm: Snakemake gave {status}: {self.said[-6000:]}")

    def counts(self) -> str:
        submitted = len(re.findall(r"has been submitted with SLURM jobid", self.said))
        again = len(re.findall(r"Trying to restart job", self.said))
        return f"{submitted} jobs submitted, {again} of them again"


class Runs:
    """What is done on the cluster, one after the other."""

    def __init__(self, cluster: Cluster, folder: Path, log: Log) -> None:
        self.cluster, self.folder, self.log = cluster, folder, log
        self.expected: dict[str, str] = {}

    def begin(self) -> None:
        """Prompts and models without Slurm, where all runs begin."""
        checkout = Slurmed(self.folder / "begun")
        checkout.small()
        datasets, models = ("left", "right", "third"), ("tiny_a", "tiny_b", "tiny_c")
        prompts = [f"data/prompts/{name}.parquet" for name in datasets]
        checkout.run("snakemake", "--cores", "2", *prompts, *(f"data/models/{name}.json" for name in models))

    def reference(self) -> None:
        """Begins what DVC makes of them without Slurm, beside the others."""
        self.log("three datasets and three models are made; from here on, each run on a copy of them")
        self.by_dvc = self._again("dvc")
        self.repro = subprocess.Popen(
            ["dvc", "repro"], cwd=self.by_dvc.path, env=self.by_dvc.env, stdout=subprocess.PIPE, text=True
        )
        STARTED.append(self.repro)

    def _expected(self) -> dict[str, str]:
        """What it made."""
        said, _ = self.repro.communicate(timeout=LIMIT)
        if self.repro.returncode:
            raise RuntimeError(f"dvc repro gave {self.repro.returncode}: {said[-2000:]}")
        done, expected = said.count("Running stage"), self.by_dvc.digests()
        self.log(f"dvc repro, without Slurm: {done} stages, {len(expected)} files with those there already")
        return expected

    def undisturbed(self) -> None:
        """To the end; one model's jobs ask for a GPU each."""
        checkout = self._again("undisturbed")
        jobs = [f"extract-tiny_a-{name}" for name in ("left", "right", "third")]
        gpus = [f"{job}:{what}" for job in jobs for what in ("gpu=1", "slurm_partition=gpu")]
        self.log("$ " + " ".join([*SNAKEMAKE, "--set-resources", "extract-tiny_a-...:gpu=1", "..."]))
        running = checkout.start("--set-resources", *gpus)
        queue = ["squeue", "-h", "-t", "running", "-O", "partition:8,state:10,timelimit:10,tres-per-job:20"]
        running.until("a GPU job", lambda: "gpu:1" in self.cluster.said(*queue))
        self.log("the queue:")
        self.log(self.cluster.said(*queue))
        running.end()
        self._same("undisturbed", checkout, running)

    def _queue(self, form: str) -> str:
        return self.cluster.said("squeue", "-h", "-o", form).strip()

    def _same(self, what: str, checkout: Slurmed, *running: Running) -> None:
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

    def _again(self, name: str) -> Slurmed:
        Slurmed.at(self.folder / "begun").copy(self.folder / name)
        checkout = Slurmed.at(self.folder / name)
        assert isinstance(checkout, Slurmed)
        return checkout

    def _extracting(self) -> list[tuple[str, int]]:
        """(job, process) of the stages that extract now, in jobs of this cluster."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes().decode().split("\0")
                inside = (process / "cwd").readlink().is_relative_to(self.folder)
                environment = (process / "environ").read_bytes().decode().split("\0")
            except (OSError, UnicodeDecodeError):
                continue  # it ended just now
            if inside and command[1:3] == ["-m", "stages.extract"]:
                job = next((one for one in environment if one.startswith("SLURM_JOB_ID=")), "")
                found.append((job.partition("=")[2], int(process.name)))
        return sorted(one for one in found if one[0])

    def disturbed(self) -> None:
        """Everything that can be taken away from a run is, one after the other, while it asks."""
        checkout = self._again("disturbed")
        first = checkout.start()
        self._kill_jobs(first)
        self._drain(first)
        first.until("two questions at once", lambda: len(self._extracting()) >= 2)
        first.process.kill()
        first.process.wait()
        self.log(f"kill -9 of Snakemake; its jobs go on: {self._queue('%T').count('RUNNING')} running")
        second = checkout.start()
        self.log("$ " + " ".join(SNAKEMAKE))
        second.end()
        self._same("disturbed", checkout, first, second)

    def _kill_jobs(self, running: Running) -> None:
        """One job is cancelled, the process of another killed."""
        running.until("two questions at once", lambda: len(self._extracting()) >= 2)
        (job, _), (other, number) = self._extracting()[:2]
        self.cluster.said("scancel", job)
        os.kill(number, signal.SIGKILL)
        self.log(f"scancel of job {job}; kill -9 of the stage in job {other}")
        running.until("the news of both", lambda: running.said.count("Error in rule") >= 2)

    def _drain(self, running: Running) -> None:
        """The node takes no new jobs for a while, and the controller is started anew meanwhile."""
        host = self.cluster.host
        self.cluster.said("scontrol", "update", f"nodename={host}", "state=drain", "reason=test")
        self.log(f"the node: {self.cluster.said('sinfo', '-h', '-p', 'cpu', '-o', '%T').strip()}")
        self.cluster.stop("slurmctld")
        self.log("slurmctld ended")
        time.sleep(8)
        self.cluster.start_controller()
        self.log("slurmctld started")
        running.until("an empty node", lambda: self._queue("%T") and "RUNNING" not in self._queue("%T"))
        self.log(
            f"the node: {self.cluster.said('sinfo', '-h', '-p', 'cpu', '-o', '%T').strip()}, "
            f"{self._queue('%T').count('PENDING')} jobs wait"
        )
        self.cluster.said("scontrol", "update", f"nodename={host}", "state=resume")
        self.log("the node is resumed")

    def time_limit(self) -> None:
        """A job that meets its limit: `--signal` stops it before, and the next one goes on."""
        checkout = self._again("limit")
        path = checkout.path / "params.yaml"
        params = yaml.safe_load(path.read_text("utf-8"))
        params["datasets"]["left"]["settings"]["items"] = 2000
        params["extract"]["batch"] = 1
        path.write_text(yaml.safe_dump(params, sort_keys=False), "utf-8")
        checkout.run("snakemake", "--cores", "2", "data/prompts/left.parquet")
        other = Slurmed.at(checkout.path).copy(self.folder / "limit-dvc")
        repro = subprocess.Popen(
            ["dvc", "repro", "--single-item", "extract@tiny_a-left"],
            cwd=other.path,
            env=checkout.env | {"PYTHONPATH": str(other.path)},
            stdout=subprocess.DEVNULL,
        )
        STARTED.append(repro)
        stopped = self._until_done(checkout)
        if not stopped:
            raise RuntimeError("time limit: the job ended before it met its limit; give it more prompts")
        notes = json.loads((checkout.path / "data/runs/extract-tiny_a-left.json").read_text("utf-8"))
        self.log(f"{stopped} jobs were told to stop, the last one ended: {notes['notes']['answers']}")
        answers = "data/responses/tiny_a/left.letters.parquet"
        if repro.wait(LIMIT) or (checkout.path / answers).read_bytes() != (other.path / answers).read_bytes():
            raise RuntimeError("time limit: not the answers of dvc repro")
        self.log("time limit: the same bytes as of dvc repro without a limit")

    def _until_done(self, checkout: Slurmed, minutes: int = 1) -> int:
        """Submits one job after the other until one ends well; how many were told to stop.

        A job that was stopped before its first answer was on disk gives the next one a minute more.
        """
        stage = shlex.join(["srun", sys.executable, "-m", "stages.extract", "tiny_a", "left"])
        known = 0
        for number in range(40):
            output = checkout.path.parent / f"limit-{number}.log"
            limit = [f"--time={minutes}", "--signal=TERM@15", "--mem=4000"]
            self.log(f"$ sbatch {' '.join(limit)} --wrap 'srun python -m stages.extract tiny_a left'")
            done = checkout.run(
                "sbatch", "--wait", f"--output={output}", *limit, "--wrap", stage, check=False
            )
            said = output.read_text("utf-8", errors="replace")
            if done.returncode == 0:
                return number
            if "told to stop (SIGTERM)" not in said:
                raise RuntimeError(f"time limit: {done.stderr} {said[-2000:]}")
            before, known = known, sum(1 for _ in (checkout.path / ".vouch/work").rglob("*.parquet"))
            self.log(f"stopped before its limit; {known} files of answers are kept")
            minutes += known == before
        raise RuntimeError("time limit: 40 jobs were not enough")


def main() -> None:
    """Runs all of them."""
    check()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("slurm: told to stop"))  # so that what it started ends
    if find_spec("snakemake_executor_plugin_slurm") is None:
        sys.exit("slurm: Snakemake's plugin is not installed; run pip install -e '.[slurm]'")
    arguments = sys.argv[1:]
    log = Log(Path(arguments[0]) if arguments else None)
    with tempfile.TemporaryDirectory(prefix="vouch-slurm-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with Cluster(folder / "slurm") as cluster:
            log(cluster.said("sinfo", "--version") + cluster.said("sinfo", "-h", "-o", "%P %T %c cpus %G"))
            runs = Runs(cluster, folder, log)
            try:
                for part in (runs.begin, runs.reference, runs.disturbed, runs.time_limit, runs.undisturbed):
                    part()
            finally:
                for process in STARTED:
                    process.kill()
                    process.wait()
    log("all of it ended with the same bytes")


if __name__ == "__main__":
    main()
