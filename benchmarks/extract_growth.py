"""Memory and speed of `extract` as a dataset grows: `python -m benchmarks.extract_growth` from the root.

The demo's questions, 10,000 and ten times as many, asked by the real stages of a project in a temporary
folder, of the smallest model that `zoo` makes: it computes next to nothing, so what counts is everything
around it. Memory is the peak of the stage's process. Speed is in processor time without that of a run over
ten questions, so that neighbours on a shared machine, imports and loading do not count. `known`: the same
stage again, with all answers in the work cache.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML

from benchmarks._figure import figure

ROOT = Path(__file__).parents[1]
MODEL = "tiny_a"
FEW = 10


@dataclass(frozen=True)
class Cost:
    """Of one process: peak of resident memory, and processor time."""

    mebibytes: float
    seconds: float


def project(folder: Path, sizes: list[int]) -> None:
    """The small profile with one model, and one dataset of each size."""
    yaml = YAML()
    params = yaml.load(ROOT / "profiles/small.yaml")
    dataset = params["datasets"]["left"]
    params["datasets"] = {
        f"of_{size}": {**dataset, "settings": {**dataset["settings"], "items": size, "seed": size}}
        for size in sizes
    }
    params["models"], params["zoo"] = [MODEL], {MODEL: params["zoo"][MODEL]}
    params["extract"]["batch"] = 32
    yaml.dump(params, folder / "params.yaml")
    for name in ("dvc.yaml", "models.lock"):
        shutil.copy(ROOT / name, folder)
    # A copy: a stage refuses to end when its code was edited meanwhile.
    shutil.copytree(ROOT / "stages", folder / "stages", ignore=shutil.ignore_patterns("__pycache__"))


def stage(folder: Path, name: str, *keys: str) -> Cost:
    """Runs a stage; ends with its message where it fails."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"stages.{name}", *keys],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{name} {' '.join(keys)} failed")
    return Cost(usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime)


def asked(folder: Path, size: int) -> int:
    """How many answers the last run of a dataset asked for."""
    side_car = folder / f"data/runs/extract-{MODEL}-of_{size}.json"
    return int(json.loads(side_car.read_text(encoding="utf-8"))["notes"]["answers"]["asked"])


def measure(folder: Path, size: int) -> tuple[Cost, Cost]:
    """Costs of asking everything, and of finding everything known."""
    stage(folder, "prepare", f"of_{size}")
    stage(folder, "vary", f"of_{size}")
    first = stage(folder, "extract", MODEL, f"of_{size}")
    assert asked(folder, size) >= 0.9 * size  # equal questions are asked once
    again = stage(folder, "extract", MODEL, f"of_{size}")
    assert asked(folder, size) == 0
    return first, again


def main() -> None:
    """Prints the figures of each size, with those of the first as peer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, nargs="+", default=[10_000, 100_000])
    sizes = parser.parse_args().prompts
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project(folder, [FEW, *sizes])
        stage(folder, "zoo", MODEL)
        start = measure(folder, FEW)
        base: list[tuple[float, float]] = []
        for size in sizes:
            for number, (run, cost) in enumerate(zip(("asked", "known"), measure(folder, size), strict=True)):
                rate = (size - FEW) / (cost.seconds - start[number].seconds)
                base += [(cost.mebibytes, rate)] if size == sizes[0] else []
                memory, speed = base[number]
                peer = f"{sizes[0]} prompts"
                figure(f"memory_{run}_{size}", cost.mebibytes, "MiB", peer, memory, memory / cost.mebibytes)
                figure(f"speed_{run}_{size}", rate, "prompts/s", peer, speed, rate / speed)


if __name__ == "__main__":
    main()
