"""Flips bits in everything that is read here, one at a time, and counts who notices (`make flips`).

Works on a copy of this checkout's results, records and caches, with the same bits each time.
A flip is noticed by the record of the stage that wrote the file, by a digest that is part of the file's name
or content, or by the reader of its format; one that nobody notices must leave all that is read as it was.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.ending import ended
from tools.flip_judges import HARMFUL, HARMLESS, NOTICED, kinds
from vouch.pipeline.errors import UserError

SEED = 11
EDGE = 96  # bytes at each end of a file that are flipped as often as all between them
COPIED = ("data", "reports", "decisions", ".vouch", ".dvc/cache", "dvc.lock", "params.yaml", "models.lock")
LINKED = ("stages", "vouch", "docs", "dvc.yaml")


def flipped(path: Path, place: int, bit: int, judge: Callable[[], str]) -> str:
    """What is said of one bit flipped in place, size and modification time as before; put back afterwards."""
    before, stat = path.read_bytes(), path.stat()

    def put(data: bytes) -> None:
        path.chmod(0o644)
        path.write_bytes(data)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        path.chmod(stat.st_mode)

    try:
        put(before[:place] + bytes([before[place] ^ (1 << bit)]) + before[place + 1 :])
        return judge()
    finally:
        put(before)


def places(size: int, count: int, dice: random.Random) -> list[int]:
    """Offsets: in turn near the start, anywhere, near the end."""
    ranges = ((0, min(EDGE, size)), (0, size), (max(0, size - EDGE), size))
    return [dice.randrange(*ranges[turn % len(ranges)]) for turn in range(count if size else 0)]


def sweep(flips: int, seed: int = SEED, most: int | None = None) -> Iterator[tuple[str, Counter[str]]]:
    """Of each kind its name, what was said how often, and how many `files` were flipped. most: files of one.

    A judge that raises ends the sweep: that would have been a traceback.
    """
    for kind in kinds():
        dice, said = random.Random(f"{seed} {kind.name}"), Counter[str]()
        chosen = kind.paths if most is None else dice.sample(kind.paths, min(most, len(kind.paths)))
        for path in chosen:
            judge = kind.judge(path)
            if judge() == NOTICED:
                raise UserError(f"{path}: damaged before anything was flipped; run `vouch store verify`")
            said["files"] += 1
            for place in places(path.stat().st_size, flips, dice):
                bit = dice.randrange(8)
                said[outcome := flipped(path, place, bit, judge)] += 1
                if outcome == HARMFUL:
                    print(f"flips: {path}: bit {bit} of byte {place}: nobody notices", file=sys.stderr)
        yield kind.name, said


def copy_checkout(root: Path, folder: Path) -> None:
    """What is flipped, copied; what only is read, linked."""
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name)
        elif (root / name).exists():
            shutil.copy2(root / name, folder / name)
    for name in LINKED:
        (folder / name).symlink_to((root / name).resolve())


def main() -> int:
    """Prints a table for docs/internals/fault-tolerance.md; 1 where a flip did harm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=3, help="in each file")
    options = parser.parse_args()
    if not (Path("data").is_dir() and Path("reports").is_dir()):
        raise UserError(
            "no results here whose bits could be flipped; `make demo` makes some, `dvc pull` gets them"
        )
    print("| kind | files | flips | noticed | harmless | harmful |\n|---|---|---|---|---|---|")
    harm = 0
    with tempfile.TemporaryDirectory() as folder:
        copy_checkout(Path.cwd(), Path(folder))
        os.chdir(folder)
        for name, said in sweep(options.flips):
            outcomes = [said[outcome] for outcome in (NOTICED, HARMLESS, HARMFUL)]
            harm += said[HARMFUL]
            print("|", " | ".join(map(str, (name, said["files"], sum(outcomes), *outcomes))), "|", flush=True)
        os.chdir("/")
    return int(harm > 0)


if __name__ == "__main__":
    sys.exit(ended("flips", main, "run it again, it begins anew"))
