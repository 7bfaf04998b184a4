"""A run undisturbed, one that everything is taken away from that can be, and one with too little time."""

import json
import os
import shlex
import signal
import sys
import time
from pathlib import Path

from tools.slurm.cluster import Cluster
from tools.slurm.running import LIMIT, SNAKEMAKE, Bed, Running, Slurmed


class Disturbances:
    """What is done to runs on the cluster."""

    def __init__(self, cluster: Cluster, bed: Bed) -> None:
        self.cluster, self.bed, self.log = cluster, bed, bed.log

    def undisturbed(self) -> None:
        """To the end; one model's jobs ask for a GPU each."""
        checkout = self.bed.begun.again("undisturbed")
        jobs = [f"extract-tiny_a-{name}" for name in ("left", "right", "third")]
        gpus = [f"{job}:{what}" for job in jobs for what in ("gpu=1", "nodes=1", "slurm_partition=gpu")]
        self.log("$ " + " ".join([*SNAKEMAKE, "--set-resources", "extract-tiny_a-...:gpu=1", "..."]))
        running = checkout.start("--set-resources", *gpus)
        queue = ["squeue", "-h", "-t", "running", "-O", "partition:8,state:10,timelimit:10,tres-per-job:20"]
        running.until("a GPU job", lambda: "gpu:1" in self.cluster.said(*queue))
        self.log("the queue:")
        self.log(self.cluster.said(*queue))
        running.end()
        self.bed.same("undisturbed", checkout, running)

    def _queue(self, form: str) -> str:
        return self.cluster.said("squeue", "-h", "-o", form).strip()

    def _extracting(self) -> list[tuple[str, int]]:
        """(job, process) of the stages that extract now, in jobs of this cluster."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes().decode().split("\0")
                inside = (process / "cwd").readlink().is_relative_to(self.bed.folder)
                environment = (process / "environ").read_bytes().decode().split("\0")
            except (OSError, UnicodeDecodeError):
                continue  # it ended just now
            if inside and command[1:3] == ["-m", "stages.extract"]:
                job = next((one for one in environment if one.startswith("SLURM_JOB_ID=")), "")
                found.append((job.partition("=")[2], int(process.name)))
        return sorted(one for one in found if one[0])

    def disturbed(self) -> None:
        """Everything that can be taken away from a run is, one after the other, while it asks."""
        checkout = self.bed.begun.again("disturbed")
        first = checkout.start()
        self._refuse(checkout, first)
        self._kill_jobs(first)
        self._drain(first)
        first.until("two questions at once", lambda: len(self._extracting()) >= 2)
        first.process.kill()
        first.process.wait()
        self.log(f"kill -9 of Snakemake; its jobs go on: {self._queue('%T').count('RUNNING')} running")
        second = checkout.start()
        self.log("$ " + " ".join(SNAKEMAKE))
        second.end()
        self.bed.same("disturbed", checkout, first, second)

    def _refuse(self, checkout: Slurmed, running: Running) -> None:
        """A second Snakemake in the same checkout."""
        running.until("a question", self._extracting)
        second = checkout.start()
        if second.process.wait(LIMIT) == 0 or "at work in this checkout" not in second.said:
            raise RuntimeError(f"slurm: a second Snakemake in one checkout: {second.said[-2000:]}")
        self.log("a second Snakemake in the same checkout: refused")

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


def time_limit(bed: Bed) -> None:
    """A job that meets its limit: `--signal` stops it before, and the next one goes on."""
    checkout = bed.begun.again("limit")
    checkout.set("datasets.left.settings.items", 6000)
    checkout.set("extract.batch", 1)
    checkout.run("snakemake", "--cores", "2", "data/prompts/left.parquet")
    other = checkout.again("limit-dvc")
    repro = other.dvc_repro("--single-item", "extract@tiny_a-left")
    stopped = _until_done(bed, checkout)
    record = json.loads((checkout.path / ".vouch/runs/extract-tiny_a-left.json").read_text("utf-8"))
    bed.log(f"{stopped} jobs were told to stop, the last one ended: {record['measured']['answers']}")
    answers = "data/responses/left/tiny_a.letters.parquet"
    repro.end()
    if (checkout.path / answers).read_bytes() != (other.path / answers).read_bytes():
        raise RuntimeError("time limit: not the answers of dvc repro")
    bed.log("time limit: the same bytes as of dvc repro without a limit")


def _until_done(bed: Bed, checkout: Slurmed, minutes: int = 1) -> int:
    """Submits one job after the other until one ends well; how many were told to stop.

    A job that was stopped before its first answer was on disk gives the next one a minute more. Raises
    RuntimeError where none was stopped with answers kept: nothing would have been shown.
    """
    stage = shlex.join(["srun", sys.executable, "-m", "stages.extract", "tiny_a", "left"])
    known = 0
    for number in range(40):
        output = checkout.path.parent / f"limit-{number}.log"
        limit = [f"--time={minutes}", "--signal=TERM@15", "--mem=4000"]
        bed.log(f"$ sbatch {' '.join(limit)} --wrap 'srun python -m stages.extract tiny_a left'")
        done = checkout.run("sbatch", "--wait", f"--output={output}", *limit, "--wrap", stage, check=False)
        said = output.read_text("utf-8", errors="replace")
        if done.returncode == 0:
            if not known:
                raise RuntimeError("time limit: no job was stopped with answers kept; give it more prompts")
            return number
        if "told to stop (SIGTERM)" not in said:
            raise RuntimeError(f"time limit: {done.stderr} {said[-2000:]}")
        before, known = known, sum(1 for _ in (checkout.path / ".vouch/work").rglob("*.parquet"))
        bed.log(f"stopped before its limit; {known} files of answers are kept")
        minutes += known == before
    raise RuntimeError("time limit: 40 jobs were not enough")
