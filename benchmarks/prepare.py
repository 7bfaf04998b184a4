"""Speed and memory of `prepare`: `python -m benchmarks.prepare` from the repository root.

15,000 questions, each about a JPEG of its own of about 100 KB, in a temporary folder. Both sides are
processes of their own, in turn, and count from start to end, imports and all: the stage as DVC runs it
(with the digests of what it reads and writes), and a loop with Pillow and pyarrow alone that reads every
file, decodes it once in as many threads as the machine has cores, and writes the same table of images.
"""

import argparse
import hashlib
import io
import json
import os
import random
import statistics
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from benchmarks._figure import figure
from benchmarks._stage import ROOT, Cost, process, project, small_profile, stage

SIZE = (640, 480)
QUALITY = 90
GRAIN = 14
BASES, SIDE = 4, 1600
NAME = "large"
OPTIONS = ["red", "green", "blue", "yellow"]
LIMIT = 1536  # MiB
SCHEMA = pa.schema(
    [
        ("digest", pa.string()),
        ("bytes", pa.binary()),
        ("format", pa.string()),
        ("mode", pa.string()),
        ("width", pa.int32()),
        ("height", pa.int32()),
    ]
)
GROUP = 16  # rows of a row group, as prepare has it
WAITING = 16  # pictures read ahead


def bases() -> list[Image.Image]:
    """Large pictures of soft colours with grain."""
    drawn = np.random.default_rng(0)
    found = []
    for _ in range(BASES):
        coarse = drawn.integers(0, 256, (SIDE // 40, SIDE // 40, 3), dtype=np.uint8)
        soft = Image.fromarray(coarse).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        grain = drawn.integers(-GRAIN, GRAIN + 1, (SIDE, SIDE, 3), dtype=np.int16)
        whole = np.clip(np.asarray(soft).astype(np.int16) + grain, 0, 255)
        found.append(Image.fromarray(whole.astype(np.uint8)))
    return found


def make(source: Path, count: int) -> None:
    """The dataset: windows of the large pictures."""
    large, rng = bases(), random.Random(0)
    source.mkdir()
    across, down = SIDE - SIZE[0], SIDE - SIZE[1]
    windows = [
        (number, place % BASES, place // BASES % across, place // BASES // across)
        for number, place in enumerate(rng.sample(range(BASES * across * down), count))
    ]

    def one(window: tuple[int, int, int, int]) -> int:
        number, base, left, top = window
        file = io.BytesIO()
        shown = large[base].crop((left, top, left + SIZE[0], top + SIZE[1]))
        shown.save(file, "JPEG", quality=QUALITY)
        return (source / f"{number}.jpg").write_bytes(file.getvalue())

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        sizes = list(pool.map(one, windows))
    figure("prepare_picture", statistics.mean(sizes) / 1024, "KiB a picture")
    with (source / "items.jsonl").open("w", encoding="utf-8") as lines:
        for number in range(count):
            line = {
                "id": f"q{number}",
                "question": f"Which colour covers most of picture {number}?",
                "options": OPTIONS,
                "answer": number % len(OPTIONS),
                "image": f"{number}.jpg",
            }
            lines.write(json.dumps(line) + "\n")


def looked_at(path: Path) -> dict[str, Any]:
    """What the peer does with one file."""
    data = path.read_bytes()
    with Image.open(io.BytesIO(data)) as image:
        image.load()
        facts = {"format": image.format, "mode": image.mode, "width": image.width, "height": image.height}
    return {"digest": hashlib.sha256(data).hexdigest(), "bytes": data, **facts}


def rows(source: Path) -> Iterator[dict[str, Any]]:
    """Those of the images table, in the order of the items."""
    waiting: deque[Future[dict[str, Any]]] = deque()
    with (
        (source / "items.jsonl").open(encoding="utf-8") as lines,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        for line in lines:
            waiting.append(pool.submit(looked_at, source / json.loads(line)["image"]))
            if len(waiting) > WAITING:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def peer(source: Path, out: Path) -> None:
    """Reads, decodes and writes.

    The settings of parquet are the stage's but for the column of pictures, which is written as pyarrow does
    where it is told no more: by dictionary, and at zstd's usual level.
    """
    with pq.ParquetWriter(
        out, SCHEMA, compression="zstd", write_page_checksum=True, store_schema=False
    ) as sink:
        held: list[dict[str, Any]] = []
        for row in rows(source):
            held.append(row)
            if len(held) == GROUP:
                sink.write_table(pa.Table.from_pylist(held, schema=SCHEMA))
                held = []
        if held:
            sink.write_table(pa.Table.from_pylist(held, schema=SCHEMA))


def measure(folder: Path, rounds: int) -> list[tuple[Cost, Cost]]:
    """Costs of the stage and of the peer, in turn; fails where their tables differ."""
    found = []
    for _ in range(rounds):
        theirs = process(folder, ROOT, "benchmarks.prepare", "--peer", "source", "peer.parquet")
        (folder / ".vouch/digests.json").unlink(missing_ok=True)
        found.append((stage(folder, "prepare", NAME), theirs))
        ours = pq.ParquetFile(folder / f"data/images/{NAME}.parquet")
        other = pq.ParquetFile(folder / "peer.parquet")
        if ours.metadata.num_rows != other.metadata.num_rows or any(
            ours.read_row_group(group) != other.read_row_group(group) for group in range(ours.num_row_groups)
        ):
            sys.exit("the stage and the loop wrote different images")
    return found


def main() -> None:
    """Measures and prints every figure; fails where memory passes its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=15_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--peer", type=Path, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        peer(*given.peer)
        return
    if given.make:
        make(given.make, given.items)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        entry = {"loader": "jsonl", "source": "source", "template": "kostumov", "settings": {}}
        project(folder, {**small_profile(), "datasets": {NAME: entry}})
        # by a process of its own: those that are measured begin with the memory of the one that starts them
        process(folder, ROOT, "benchmarks.prepare", "--make", "source", "--items", str(given.items))
        costs = measure(folder, given.rounds)
    for kind in ("wall", "seconds"):
        mine, theirs = ([given.items / getattr(cost[side], kind) for cost in costs] for side in (0, 1))
        ratio = statistics.median(a / b for a, b in zip(mine, theirs, strict=True))
        middle, other = statistics.median(mine), statistics.median(theirs)
        label = "items/s" if kind == "wall" else "items/s of one core"
        figure(f"prepare_{kind}", middle, label, "Pillow and pyarrow alone", other, ratio)
    most, other = (max(cost[side].mebibytes for cost in costs) for side in (0, 1))
    figure("prepare_memory", most, "MiB", "Pillow and pyarrow alone", other, other / most)
    if most > LIMIT:
        sys.exit(f"prepare peaks at {most:.0f} MiB, above {LIMIT}")


if __name__ == "__main__":
    main()
