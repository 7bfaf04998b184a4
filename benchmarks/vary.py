"""Speed and memory of `vary`: `python -m benchmarks.vary` from the root.

4,377 questions (as many as MMBench has rows) in 40 prompts each, by the stage as a process of its own, and
(`vary_inside`) by its body alone, without imports, checks and digests. The peer has all rows in memory and
writes them with pyarrow, with the same settings: `Table.from_pylist` and a ParquetWriter (_rows.py).
Of the peer the time from rows to file is counted, without making them, its start or its imports; of the
stage all, but not its very first run, which compiles its code. `vary_processes` counts both as processes:
the peer too with its start and imports, without making rows. Processor time, because neighbours on a shared
machine count less in it, and (`vary_wall`) time on the wall.
"""

import argparse
import gc
import hashlib
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from benchmarks._figure import figure
from benchmarks._stage import ROOT, process, project, small_profile, stage
from stages.vary import main as vary
from vouch.pipeline.dag import read_dag
from vouch.pipeline.run import Run
from vouch.tables.asked import ITEMS, PROMPTS, REWRITES, items_path, prompts_path, rewrites_path

NAME = "large"
LEVELS = [f"{name}_{level}" for name in ("vr_b", "vr_l", "jpeg") for level in range(1, 6)]
VARIATIONS = ["original", "option_order", "circular", "shuffled", "tests", *LEVELS, "vr_r", "blank"]
VARIATIONS += ["text_only", "image_only", "labels", "option_order+vr_r", "blank+option_order"]
PROMPTS_EACH = 40
WORDS = ["the", "of", "picture", "shows", "which", "colour", "object", "left", "right", "above", "person"]


def make(count: int) -> None:
    """The tables of items and rewrites, in the present folder."""
    rng = random.Random(0)

    def said(words: int) -> str:
        return " ".join(rng.choice(WORDS) for _ in range(words))

    rows = (
        {
            "id": f"q{number}",
            "group": f"g{number}",
            "question": said(12) + "?",
            "hint": said(25) if number % 2 else None,
            "options": [said(rng.randint(1, 5)) for _ in range(4)],
            "answers": [rng.randrange(4)],
            "images": [hashlib.sha256(str(number).encode()).hexdigest()],
            "kind": "choice",
        }
        for number in range(count)
    )
    ITEMS.write(items_path(NAME), rows)
    REWRITES.write(rewrites_path(NAME), [])


def _warm() -> None:
    """What pyarrow loads the first time: pandas, where it is installed."""
    pa.Table.from_pylist([{}], schema=PROMPTS.schema)


def inside() -> None:
    """Prints the time of the stage's body."""
    dag = read_dag()
    _warm()
    gc.disable()  # as the stage does
    start = time.process_time()
    vary(Run(dag, dag.by_command(f"python -m stages.vary {NAME}"), [NAME]))
    Path("inside.json").write_text(json.dumps(time.process_time() - start))


def writing(count: int, rounds: int) -> None:
    """The figures of the stage."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        entry = {"loader": "jsonl", "source": "source", "template": "kostumov"}
        project(folder, {**small_profile(), "variations": VARIATIONS, "datasets": {NAME: entry}})
        process(folder, ROOT, "benchmarks.vary", "--make", "--items", str(count))
        stage(folder, "vary", NAME)
        times: dict[str, list[tuple[float, float]]] = {}
        most = 0.0
        for _ in range(rounds):
            cost = stage(folder, "vary", NAME)
            group = str(PROMPTS.rows_per_group)
            whole = process(folder, ROOT, "benchmarks._rows", str(prompts_path(NAME)), group).seconds
            rows, making, seconds, wall = json.loads((folder / "peer.json").read_text())
            assert rows == PROMPTS_EACH * count
            process(folder, ROOT, "benchmarks.vary", "--inside")
            body = json.loads((folder / "inside.json").read_text())
            most = max(most, cost.mebibytes)
            for label, both in (
                (f"vary_{rows}", (cost.seconds, seconds)),
                ("vary_wall", (cost.wall, wall)),
                ("vary_processes", (cost.seconds, whole - making)),
                ("vary_inside", (body, seconds)),
            ):
                times.setdefault(label, []).append(both)
    for label, pairs in times.items():
        mine, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratio = statistics.median(theirs / mine for mine, theirs in pairs)
        figure(label, mine, "s", "writing the rows with pyarrow", theirs, ratio)
    figure("vary_memory", most, "MiB")


def main() -> None:
    """Measures and prints every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=4377)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        make(given.items)
    elif given.inside:
        inside()
    else:
        writing(given.items, given.rounds)


if __name__ == "__main__":
    main()
