"""`make scale`: what runs of the full matrix cost, measured at parts of it.

`python -m tools.scale [PART ...]`, default `1000 100`: the full matrix is 26 models x 14 datasets x 12
variations x 1,000 items, and 1000 stands for a thousandth of its prompts. Rendered scenes are asked of models
of random weights, as small as the engine takes them, by every real stage; DVC runs them, one kind of
stage after the other. Works in build/scale/PART, where a run that was stopped goes on (what it took of the
kind of stage it was at is not counted). Prints what each kind took in processor time, with DVC, its memory,
and the bytes that lie there at the end. docs/internals/performance.md reads the figures.
"""

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

from tests.checkouts.checkout import ROOT, Checkout
from tests.checkouts.small import small
from tools.ending import add_line, ended, read_lines
from vouch.cli.counts import count_prompts
from vouch.pipeline.dag import read_dag
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load
from vouch.tables.asked import prompts_path

FOLDER = ROOT / "build/scale"
VARIATIONS = ["original", "option_order", "lr_i", "lr_c", "lr_v", "ls_n", "vr_b_3", "vr_b_5", "vr_l", "vs_s"]
VARIATIONS += ["vs_e", "blank"]
KINDS = [
    "train",
    "pin",
    "prepare",
    "rewrite",
    "vary",
    "embed",
    "extract",
    "judge",
    "score",
    "embed_texts",
    "compare",
]
KINDS += ["browse", "report"]
GROWING = ["data/items", "data/images", "data/prompts", "data/responses", "data/scores", "data/embeddings"]
GROWING += ["data/compare", "reports", ".vouch/work", ".dvc/cache", "dvc.lock"]


class Part(NamedTuple):
    """Models, datasets and items of each dataset."""

    models: int
    datasets: int
    items: int


PARTS = {1000: Part(2, 2, 91), 100: Part(4, 4, 228), 10: Part(8, 7, 650), 1: Part(26, 14, 1000)}


class Cost(NamedTuple):
    """Processor seconds with all children, and the largest of them in MiB."""

    seconds: float
    mebibytes: float


def params(part: Part) -> str:
    """The profile of a part: small, with so many models and datasets."""
    scenes = {"loader": "shapes", "source": "vouch/demo/scenes", "template": "kostumov"}
    datasets = {
        f"set_{number:02d}": {**scenes, "settings": {"seed": number, "items": part.items}}
        for number in range(part.datasets)
    }
    asked = {"batch": 32, "bucket": 32, "threads": 1, "device": "cpu"}
    train = [f"tiny_{number:02d}" for number in range(part.models)]
    return small(train=train, datasets=datasets, profile="part", variations=VARIATIONS, extract=asked)


def checkout(number: int) -> Checkout:
    """The checkout of a part, as it was left or a new one."""
    path = FOLDER / str(number)
    if (path / "ready").exists():
        return Checkout.at(path)
    if path.exists():
        sys.exit(f"scale: {path}: was stopped while it was made; delete it and run this again")
    made = Checkout(path)
    (path / "params.yaml").write_text(params(PARTS[number]), "utf-8")
    made.commit("a part of the matrix")
    (path / "ready").touch()
    return made


def repro(where: Checkout, kind: str) -> Cost:
    """`dvc repro` of one kind of stage; ends where it fails."""
    with (where.path / "dvc.log").open("a", encoding="utf-8") as log:
        running = subprocess.Popen(
            ["dvc", "repro", kind], cwd=where.path, env=where.env, stdout=log, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(running.pid, 0)
    if status:
        sys.exit(f"scale: `dvc repro {kind}` failed; {where.path}/dvc.log says why; run again, it goes on")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def run(number: int) -> None:
    """Runs what is left of a part, and prints all its figures."""
    where = checkout(number)
    figures = where.path / "figures.jsonl"
    done = {row["kind"]: row for row in read_lines(figures)}
    for kind in KINDS:
        if kind not in done:
            seconds, mebibytes = repro(where, kind)
            done[kind] = {"kind": kind, "seconds": round(seconds, 1), "mebibytes": round(mebibytes)}
            add_line(figures, done[kind])
            print(f"1/{number}: {kind} has run", flush=True)
    report(number, where, list(done.values()))


def report(number: int, where: Checkout, rows: list[dict[str, object]]) -> None:
    """The figures of a part that is done, one line each."""
    with chdir(where.path):
        dag = read_dag()
        stages = Counter(name.partition("@")[0] for name in dag.stages)
        datasets = load(Path("params.yaml"))["datasets"]
        prompts = sum(count_prompts(prompts_path(name)).prompts for name in datasets)
        asked = prompts * PARTS[number].models
        print(f"1/{number}: {PARTS[number]}, {prompts} prompts, {asked} answers, {len(dag.stages)} stages")
        for row in rows:
            kind = str(row["kind"])
            print(f"  {kind}: {stages[kind]} stages, {row['seconds']} s, {row['mebibytes']} MiB")
        for name, size in sizes():
            print(f"  {name}: {size / 2**20:.1f} MiB, {size / asked:.0f} bytes an answer")


def sizes() -> Iterator[tuple[str, int]]:
    """Bytes below the folders that grow."""
    for name in GROWING:
        path = Path(name)
        files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
        yield name, sum(file.stat().st_size for file in files)


def main() -> int:
    """Runs the parts that were asked for, the smallest first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", type=int, default=[1000, 100], help=f"of {list(PARTS)}")
    wanted = set(parser.parse_args().parts)
    if unknown := sorted(wanted - set(PARTS)):
        raise UserError(f"{unknown[0]}: no such part; name some of {', '.join(map(str, PARTS))}")
    for number in sorted(wanted, reverse=True):
        run(number)
    return 0


if __name__ == "__main__":
    sys.exit(ended("scale", main, "run it again, it goes on with the kind of stage that it was at"))
