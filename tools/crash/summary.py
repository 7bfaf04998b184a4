"""The log of a matrix as tables."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Line = Mapping[str, Any]
WAYS = ("dvc", "snakemake", "dvc, then snakemake", "snakemake, then dvc")


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
