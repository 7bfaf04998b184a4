"""A time limit that is too short: a job stops before it with its answers kept, and the next goes on."""

import json
import shlex
import sys

from tools.slurm.comparing import Bed
from tools.slurm.running import Slurmed


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
    answers = "data/responses/tiny_a/left.letters.parquet"
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
