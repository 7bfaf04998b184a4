"""`python -m tools.crash [--seed 1] [--kills 60] [--points 3,7-9] [--workers 2] FOLDER`

Kills runs, fills disks, takes memory, shifts clocks and runs two engines at once, on copies of a small
project; after each the next plain command has to end as if nothing had happened. FOLDER/log.jsonl takes
a line for each point; points that are in it are not tried again. Ends with a table, and with 1 where a
point found a fault. Needs Linux; a full or read-only disk needs root, the clock needs faketime.
"""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

from tools.crash import bed
from tools.crash.hurting import Unable
from tools.crash.points import KILLS, Point, plan
from tools.crash.summary import summary
from tools.crash.trying import attempt, clear


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.crash", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--points", type=_numbers, help="only these, such as 3,7-9")
    parser.add_argument("--workers", type=int, default=1, help="points tried at once")
    return parser.parse_args()


def _numbers(text: str) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


class Matrix:
    """The points of a plan that a log does not hold yet."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder, self._seed = folder.resolve(), seed
        self._log = self._folder / "log.jsonl"
        self._lock = Lock()
        self._made = bed.reference(self._folder / "reference")
        self.stages = bed.stages(self._made)

    def logged(self) -> list[dict[str, Any]]:
        """What the log holds of this seed."""
        if not self._log.exists():
            return []
        lines = [json.loads(line) for line in self._log.read_text("utf-8").splitlines()]
        return [line for line in lines if line["seed"] == self._seed]

    def attempt(self, point: Point) -> None:
        """Tries a point and logs it; its folder stays where it found a fault."""
        place = self._folder / f"seed-{self._seed}-point-{point.number}"
        if place.exists():
            clear(place)
        try:
            found = attempt(point, self._made, place)
        except Unable as reason:
            print(f"point {point.number}: {point.kind}: not tried: {reason}", file=sys.stderr)
            return
        with self._lock, self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps({"seed": self._seed, **found}) + "\n")
        verdict = "; ".join(found["faults"]) or ("survived" if found["hit"] else "ended before it was hurt")
        print(f"point {point.number}: {point.kind} {point.stage}, {point.engine}: {verdict}", flush=True)
        if not found["faults"] and place.exists():
            clear(place)


def main() -> int:
    options = arguments()
    matrix = Matrix(options.folder, options.seed)
    points = plan(options.seed, matrix.stages, options.kills)
    known = {line["point"]["number"] for line in matrix.logged()}
    wanted = [
        p for p in points if p.number not in known and (not options.points or p.number in options.points)
    ]
    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(matrix.attempt, wanted))
    logged = matrix.logged()
    print(summary(logged))
    return 1 if any(line["faults"] for line in logged) else 0


if __name__ == "__main__":
    sys.exit(main())
