"""python -m tests.fuzz [--minutes 30] [--only NAME]: more examples for each reader, until each had so many minutes.

Everything is kept in .vouch/fuzz: log.jsonl has a line for each turn (target, seed, examples, seconds, crashes),
and a crash's example is a file beside it. Run again, it goes on with new seeds where the log ends.
"""

import argparse
import hashlib
import json
from collections import Counter
from pathlib import Path

from tests.fuzz.judging import Report, fuzz, line, targets

FOLDER = Path(".vouch/fuzz")
LOG = FOLDER / "log.jsonl"
TURN = 20.0  # seconds that one target runs before the next has its turn


def main() -> int:
    """1 where a target has ever crashed in this log, with each crash in a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="for each target, in all")
    parser.add_argument("--only", choices=targets(), help="one target alone")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = [arguments.only] if arguments.only else targets()
    spent, seeds = _so_far()
    while True:
        name = min(wanted, key=lambda target: spent[target])
        left = 60 * arguments.minutes - spent[name]
        if left < 1:
            break
        report = fuzz(name, seeds[name], min(TURN, left))
        spent[name] += report.seconds
        seeds[name] += 1
        _keep(report)
    return _said(wanted)


def _lines() -> list[dict[str, object]]:
    return [json.loads(one) for one in LOG.read_text(encoding="utf-8").splitlines()] if LOG.exists() else []


def _so_far() -> tuple[Counter[str], Counter[str]]:
    """Seconds that each target had, and the seed that comes next."""
    spent: Counter[str] = Counter()
    seeds: Counter[str] = Counter()
    for one in _lines():
        name = str(one["target"])
        spent[name] += one["seconds"]  # type: ignore[assignment]
        seeds[name] = max(seeds[name], int(str(one["seed"])) + 1)
    return spent, seeds


def _keep(report: Report) -> None:
    for crash in report.crashes:
        data = bytes.fromhex(crash["data"])
        (FOLDER / f"{report.target}-{hashlib.sha256(data).hexdigest()[:16]}").write_bytes(data)
    with LOG.open("a", encoding="utf-8") as log:
        log.write(line(report))


def _said(wanted: list[str]) -> int:
    crashed = 0
    print(f"{'target':<14}{'minutes':>9}{'examples':>11}{'refused':>10}{'outcomes':>10}{'crashes':>9}")
    for name in wanted:
        mine = [one for one in _lines() if one["target"] == name]
        total = {key: sum(one[key] for one in mine) for key in ("seconds", "examples", "refused", "outcomes")}  # type: ignore[misc]
        crashes = sorted({str(crash) for one in mine for crash in one["crashes"]})  # type: ignore[attr-defined]
        crashed += len(crashes)
        print(
            f"{name:<14}{total['seconds'] / 60:>9.1f}{total['examples']:>11,}{total['refused']:>10,}"
            f"{total['outcomes']:>10,}{len(crashes):>9}"
        )
        for crash in crashes:
            print(f"    {crash[:300]}")
    return int(crashed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
