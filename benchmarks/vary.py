"""Speed and memory of `vary`, and of rendering pictures: `python -m benchmarks.vary` from the root.

4,377 questions (as many as MMBench has rows) in 40 prompts each, by the stage as a process of its own, and
(`vary_inside`) by its body alone, without imports, checks and digests. The peer has all rows in memory and
writes them with pyarrow, with the same settings: the time that is counted is that from rows to file, without
making them. Pictures: blurred, lit, compressed and turned
ones, from the bytes of a JPEG to pixels, against the same calls of Pillow. Processor time, because
neighbours on a shared machine count less in it.
"""

import argparse
import hashlib
import io
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image, ImageFilter, ImageOps

from benchmarks._figure import figure
from benchmarks._stage import ROOT, process, project, small_profile, stage
from stages.contracts.images import FORMATS
from stages.contracts.items import ITEMS, items_path
from stages.contracts.prompts import PROMPTS, prompts_path
from stages.contracts.rewrites import REWRITES, rewrites_path
from stages.dag import read_dag
from stages.extract.operations import BLUR, BLUR_SIDE, LIGHT, QUALITY
from stages.extract.pictures import render
from stages.runtime.stage import Run
from stages.vary.__main__ import main as vary

NAME = "large"
LEVELS = [f"{name}_{level}" for name in ("vr_b", "vr_l", "jpeg") for level in range(1, 6)]
VARIATIONS = ["original", "option_order", "circular", "shuffled", "tests", *LEVELS, "vr_r", "blank"]
VARIATIONS += ["text_only", "image_only", "marks", "option_order+vr_r", "blank+option_order"]
PROMPTS_EACH = 40
WORDS = ["the", "of", "picture", "shows", "which", "colour", "object", "left", "right", "above", "person"]
SIZE, PICTURES, ROUNDS = (640, 480), 24, 5
STEPS = ["", "blur", "brighten", "jpeg", "rotate"]


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


def peer() -> None:
    """Prints the time of writing what the stage wrote."""
    rows = pq.read_table(prompts_path(NAME)).to_pylist()
    _warm()
    size = PROMPTS.rows_per_group
    start = time.process_time()
    with pq.ParquetWriter(
        "peer.parquet", PROMPTS.schema, compression="zstd", write_page_checksum=True, store_schema=False
    ) as sink:
        for first in range(0, len(rows), size):
            sink.write_table(pa.Table.from_pylist(rows[first : first + size], schema=PROMPTS.schema))
    Path("peer.json").write_text(json.dumps([time.process_time() - start, len(rows)]))


def _warm() -> None:
    """What pyarrow loads the first time: pandas, where it is installed."""
    pa.Table.from_pylist([{}], schema=PROMPTS.schema)


def inside() -> None:
    """Prints the time of the stage's body."""
    dag = read_dag()
    _warm()
    start = time.process_time()
    vary(Run(dag, dag.by_command(f"python -m stages.vary {NAME}"), [NAME]))
    Path("inside.json").write_text(json.dumps(time.process_time() - start))


def writing(count: int, rounds: int) -> None:
    """The figures of the stage."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        entry = {"loader": "jsonl", "source": "source", "style": "kostumov"}
        project(folder, {**small_profile(), "variations": VARIATIONS, "datasets": {NAME: entry}})
        process(folder, ROOT, "benchmarks.vary", "--make", "--items", str(count))
        costs, most = [], 0.0
        for _ in range(rounds):
            cost = stage(folder, "vary", NAME)
            process(folder, ROOT, "benchmarks.vary", "--peer")
            seconds, rows = json.loads((folder / "peer.json").read_text())
            assert rows == PROMPTS_EACH * count
            process(folder, ROOT, "benchmarks.vary", "--inside")
            body = json.loads((folder / "inside.json").read_text())
            most = max(most, cost.mebibytes)
            costs.append((cost.seconds, body, seconds))
    for side, label in enumerate((f"vary_{rows}", "vary_inside")):
        mine, theirs = (statistics.median(cost[number] for cost in costs) for number in (side, 2))
        ratio = statistics.median(cost[2] / cost[side] for cost in costs)
        figure(label, mine, "s", "writing the rows with pyarrow", theirs, ratio)
    figure("vary_memory", most, "MiB")


def alone(data: bytes, operation: str, severity: int) -> Image.Image:
    """What Pillow does for one picture, and nothing else."""
    with Image.open(io.BytesIO(data), formats=FORMATS) as file:
        file.load()
        image = ImageOps.exif_transpose(file)
    if operation == "blur":
        sigma = BLUR[severity - 1] * min(image.size) / BLUR_SIDE
        return image.filter(ImageFilter.GaussianBlur(sigma))
    if operation == "brighten":
        more = round(255 * LIGHT[severity - 1])
        return image.point([min(255, value + more) for value in range(256)] * 3)
    if operation == "jpeg":
        packed = io.BytesIO()
        image.save(packed, "JPEG", quality=QUALITY[severity - 1], subsampling="4:2:0")
        with Image.open(packed) as opened:
            return opened.convert("RGB")
    return image.transpose(Image.Transpose.ROTATE_270) if operation == "rotate" else image


def rendering() -> None:
    """The figure of pictures; fails where both sides come to other pixels."""
    drawn = np.random.default_rng(0)
    images: dict[str, bytes] = {}
    for number in range(PICTURES):
        coarse = drawn.integers(0, 256, (12, 16, 3), dtype=np.uint8)
        file = io.BytesIO()
        Image.fromarray(coarse).resize(SIZE, Image.Resampling.BICUBIC).save(file, "JPEG", quality=95)
        images[str(number)] = file.getvalue()
    asked = [
        (name, operation, 1 + index % 5 if operation not in ("", "rotate") else 0)
        for index, name in enumerate(images)
        for operation in STEPS
    ]
    recipes = [
        {
            "images": [name],
            "steps": [{"operation": operation, "severity": severity, "revision": 1}] if operation else [],
        }
        for name, operation, severity in asked
    ]
    for recipe, (name, operation, severity) in zip(recipes, asked, strict=True):
        assert render(recipe, images.__getitem__) == alone(images[name], operation, severity)
    pairs = []
    for _ in range(ROUNDS):
        theirs = _seconds(lambda: [alone(images[name], what, how) for name, what, how in asked])
        pairs.append((_seconds(lambda: [render(one, images.__getitem__) for one in recipes]), theirs))
    mine, other = (len(asked) / statistics.median(pair[side] for pair in pairs) for side in (0, 1))
    ratio = statistics.median(there / here for here, there in pairs)
    figure("rendered_pictures", mine, "pictures/s of one core", "the calls of Pillow alone", other, ratio)


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Measures and prints every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=4377)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        make(given.items)
    elif given.peer:
        peer()
    elif given.inside:
        inside()
    else:
        rendering()
        writing(given.items, given.rounds)


if __name__ == "__main__":
    main()
