"""`python -m tools.crash [--seed 1] [--first 20] [--points 3,7-9] [--workers 2] FOLDER`

Kills runs, fills disks, takes memory, shifts clocks and runs two runners at once, on copies of a small
project; after each the next plain command has to end as if nothing had happened. FOLDER/log.jsonl takes
a line for each point; points that are in it are not tried again. Ends with a table, and with 1 where a
point found a fault; says how many points this machine could not try. Needs Linux; a full or read-only
disk needs root, the clock needs faketime.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

from tools.crash.disturbing import Unable
from tools.crash.points import Point, plan
from tools.crash.trying import attempt, clear, reference
from tools.ending import add_line, ended, read_lines
from vouch.pipeline.dag import read_dag
from vouch.pipeline.errors import UserError

Line = Mapping[str, Any]
WAYS = ("dvc", "snakemake", "dvc, then snakemake", "snakemake, then dvc")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.crash", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, metavar="N", help="only the first N points; those are kills")
    parser.add_argument("--points", type=numbers, metavar="3,7-9", help="only these")
    parser.add_argument("--workers", type=int, default=1, help="points tried at once")
    return parser.parse_args()


def numbers(text: str) -> set[int]:
    """What --points names."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
            raise argparse.ArgumentTypeError(f"{part!r} is no number and no range; write them as 3,7-9")
        found |= set(range(int(first), int(last) + 1))
    return found


class Matrix:
    """The points of a plan that a log does not hold yet."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder, self._seed = folder.resolve(), seed
        self.log = self._folder / "log.jsonl"
        self._lock = Lock()
        self._made = reference(self._folder / "reference")
        self.stages = [stage.name for stage in read_dag(self._made.path).ordered()]

    def logged(self) -> list[dict[str, Any]]:
        """What the log holds of this seed."""
        return [line for line in read_lines(self.log) if line["seed"] == self._seed]

    def attempt(self, point: Point) -> bool:
        """Tries a point and logs it; its folder stays where it found a fault. Whether it could be tried."""
        place = self._folder / f"seed-{self._seed}-point-{point.number}"
        if place.exists():
            clear(place)
        try:
            found = attempt(point, self._made, place)
        except Unable as reason:
            print(f"point {point.number}: {point.kind}: not tried: {reason}", file=sys.stderr)
            return False
        with self._lock:
            add_line(self.log, {"seed": self._seed, **found})
        verdict = "; ".join(found["faults"]) or (
            "no fault" if found["hit"] else "ended before it was disturbed"
        )
        print(f"point {point.number}: {point.kind} {point.stage}, {point.runner}: {verdict}", flush=True)
        if not found["faults"] and place.exists():
            clear(place)
        return True


def wanted(points: Sequence[Point], named: set[int] | None) -> list[Point]:
    """Those that were asked for: named ones have to be in the plan."""
    if unknown := sorted((named or set()) - {point.number for point in points}):
        raise UserError(f"--points: no point {unknown[0]}; the plan has 0 to {len(points) - 1}")
    return [point for point in points if named is None or point.number in named]


def _way(line: Line) -> str:
    runner, finisher = line["point"]["runner"], line["point"]["finisher"]
    return str(runner) if runner == finisher else f"{runner}, then {finisher}"


def _table(title: str, columns: Sequence[str], rows: Mapping[str, Counter[str]]) -> list[str]:
    head = ["| " + " | ".join([title, *columns, "all"]) + " |", "|---|" + "---|" * (len(columns) + 1)]
    body = [
        "| "
        + " | ".join([name, *(str(counts[column] or "") for column in columns), str(counts.total())])
        + " |"
        for name, counts in rows.items()
    ]
    return [*head, *body, ""]


def _counted(lines: Iterable[Line], row: str) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for line in lines:
        found.setdefault(line["point"][row].partition("@")[0], Counter())[_way(line)] += 1
    return dict(sorted(found.items()))


def summary(lines: Sequence[Line]) -> str:
    """Tables of what was tried (only points that did disturb), then what it cost and what was found."""
    disturbed = [line for line in lines if line["hit"]]
    kills = [line for line in disturbed if line["point"]["kind"] == "kill"]
    others = [line for line in disturbed if line["point"]["kind"] != "kill"]
    victims: dict[str, Counter[str]] = {}
    for line in kills:
        victims.setdefault(line["point"]["victim"], Counter())[_way(line)] += 1
    text = _table("kill -9 in stage", WAYS, _counted(kills, "stage"))
    text += _table("killed", WAYS, dict(sorted(victims.items())))
    text += _table("other", WAYS, _counted(others, "kind"))
    faulty = [line for line in lines if line["faults"]]
    text += [
        f"points: {len(lines)} tried, {len(disturbed)} disturbed, {len(lines) - len(faulty)} without a fault",
        f"bytes finished at the time: {sum(line['bytes']['finished'] for line in lines)}",
        f"bytes lost: {sum(line['bytes']['lost'] for line in lines)}",
        f"answers stored at the time: {sum(line['answers']['kept'] for line in disturbed)}",
        f"answers asked twice though stored: {sum(line['answers']['twice'] for line in lines)}",
        f"points at which dvc.lock was mended: {sum(bool(line.get('mended')) for line in lines)}",
        f"points that left temporary files: {sum(bool(line['left']) for line in lines)}, "
        f"still there after the next run: {sum(bool(line.get('pruned')) for line in lines)}",
    ]
    for line in faulty:
        text += [f"fault at point {line['point']['number']}: {fault}" for fault in line["faults"]]
    return "\n".join(text)


def main() -> int:
    """1 where a point in the log has a fault."""
    options = arguments()
    matrix = Matrix(options.folder, options.seed)
    points = wanted(plan(options.seed, matrix.stages)[: options.first], options.points)
    known = {line["point"]["number"] for line in matrix.logged()}
    left = [point for point in points if point.number not in known]
    if len(left) < len(points):
        print(f"{len(points) - len(left)} of {len(points)} points are in {matrix.log} already", flush=True)
    with ThreadPoolExecutor(options.workers) as pool:
        try:
            tried = list(pool.map(matrix.attempt, left))
        except KeyboardInterrupt:
            print("crash: stops when the points that it is at have ended", file=sys.stderr, flush=True)
            raise
    logged = matrix.logged()
    print(summary(logged))
    if not all(tried):
        print(f"points not tried, for the reasons above: {tried.count(False)}")
    return 1 if any(line["faults"] for line in logged) else 0


if __name__ == "__main__":
    sys.exit(ended("crash", main, "run it again, points in the log are not tried again"))
