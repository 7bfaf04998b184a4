"""python -m tests.fuzz: more damaged files for each reader, until each has had so many minutes of processor time.

Everything is kept in .vouch/fuzz: log.jsonl has a line for each turn (target, seed, examples, seconds, crashes),
and a crash's example is a file beside it. Run again, it goes on with new seeds where the log ends.
"""

import argparse
import hashlib
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz.judging import ALL, Report, fuzz, load, record, targets
from tools.ending import add_line, ended, read_lines

TURN = 60.0  # seconds of processor time that one target has before the next has its turn


class Log:
    """log.jsonl in a folder, and the files that crashes are kept in."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._path = folder, folder / "log.jsonl"

    def turns(self, name: str) -> list[dict[str, Any]]:
        """The turns of a target so far."""
        return [one for one in read_lines(self._path) if one["target"] == name]

    def seconds(self, name: str) -> float:
        """Of processor time that a target had."""
        return sum(one["seconds"] for one in self.turns(name))

    def seed(self, name: str) -> int:
        """The one that comes next."""
        return max((one["seed"] + 1 for one in self.turns(name)), default=0)

    def keep(self, report: Report) -> None:
        """Adds a turn."""
        for crash in report.crashes:
            data = bytes.fromhex(crash["data"])
            name = f"{report.target}-{hashlib.sha256(data).hexdigest()[:16]}"
            (self._folder / name).write_bytes(data)
        add_line(self._path, record(report))


def main() -> int:
    """1 where a target has ever crashed in this log."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=30.0, help="of processor time of each target, in all"
    )
    parser.add_argument("--examples", type=int, default=ALL, help="of each target, in one turn")
    parser.add_argument("--only", choices=targets(), help="one target alone")
    parser.add_argument("--folder", type=Path, default=Path(".vouch/fuzz"), help="where the log is")
    arguments = parser.parse_args()
    wanted = [arguments.only] if arguments.only else targets()
    for name in wanted:
        load(name)  # here, so that no process of an example imports it again
    log, once = Log(arguments.folder), arguments.examples < ALL
    waiting = list(wanted)
    while waiting:
        name = min(waiting, key=log.seconds)
        left = 60 * arguments.minutes - log.seconds(name)
        if left >= 1:
            turn = fuzz(name, log.seed(name), left if once else min(TURN, left), arguments.examples)
            log.keep(turn)
            print(
                f"{name}: turn {turn.seed}: {turn.examples} examples, {len(turn.crashes)} crashes", flush=True
            )
        if left < 1 or once:
            waiting.remove(name)
    return _said(log, wanted)


def _said(log: Log, wanted: list[str]) -> int:
    print(f"{'target':<14}{'minutes':>9}{'examples':>11}{'refused':>11}{'outcomes':>10}{'crashes':>9}")
    found = False
    for name in wanted:
        turns: Counter[str] = Counter()
        for one in log.turns(name):
            turns.update({key: one[key] for key in ("seconds", "examples", "refused", "outcomes")})
        crashes = sorted({crash for one in log.turns(name) for crash in one["crashes"]})
        found = found or bool(crashes)
        print(
            f"{name:<14}{turns['seconds'] / 60:>9.1f}{turns['examples']:>11,}{turns['refused']:>11,}"
            f"{turns['outcomes']:>10,}{len(crashes):>9}"
        )
        for crash in crashes:
            print(f"    {crash[:300]}")
    return int(found)


if __name__ == "__main__":
    sys.exit(ended("fuzz", main, "run it again, it goes on after the last whole turn"))
