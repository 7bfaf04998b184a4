"""Processor time of the stages that make results: `python -m benchmarks.results [COMMIT]`.

Of the demo: `score` of every dataset, `compare` and `report`, each as the process that dvc.yaml starts. HEAD
is compared with another commit, by default the one before. Both read their own stored results (`dvc pull`),
in alternation on one machine. What the stages keep under .vouch is removed before each round.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._figure import figure
from benchmarks._stage import ROOT, process

KEPT = ("scored", "drawings")
ROUNDS = 2
Seconds = dict[str, float]


def checkout(folder: Path, commit: str) -> None:
    """A clone of this repository at a commit, with the stored results."""
    subprocess.run(["git", "clone", "-q", str(ROOT), str(folder)], check=True)
    subprocess.run(["git", "checkout", "-q", commit], cwd=folder, check=True)
    subprocess.run(["dvc", "pull", "-q"], cwd=folder, check=True)


def measured(folder: Path) -> Seconds:
    """Processor seconds by stage."""
    for name in KEPT:
        shutil.rmtree(folder / ".vouch" / name, ignore_errors=True)
    datasets = sorted(path.stem for path in (folder / "data/items").glob("*.parquet"))
    score = sum(process(folder, folder, "stages.score", name).seconds for name in datasets)
    others = {name: process(folder, folder, f"stages.{name}").seconds for name in ("compare", "report")}
    return {"score": score} | others


def main() -> None:
    """Prints the least time of each stage, and of all together, against that of the other commit."""
    other = sys.argv[1] if len(sys.argv) > 1 else "HEAD^"
    with tempfile.TemporaryDirectory() as place:
        folders = Path(place, "now"), Path(place, "before")
        for folder, commit in zip(folders, ("HEAD", other), strict=True):
            checkout(folder, commit)
        rounds = [[measured(folder) for folder in folders] for _ in range(ROUNDS)]
    now, before = (
        {stage: min(each[stage] for each in side) for stage in side[0]} for side in zip(*rounds, strict=True)
    )
    for stage in now:
        figure(stage, now[stage], "s", other, before[stage], now[stage] / before[stage])
    ours, theirs = sum(now.values()), sum(before.values())
    figure("all", ours, "s", other, theirs, ours / theirs)


if __name__ == "__main__":
    main()
