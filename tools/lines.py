"""A log of JSON, a line for each record. Half of one that a killed run or a full disk left is no line."""

import json
from pathlib import Path
from typing import Any


def read(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a log, none where it is not there."""
    found = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except ValueError:  # not UTF-8 is one as well
            continue
        if isinstance(record, dict):  # half a line may be a number
            found.append(record)
    return found


def add(path: Path, record: dict[str, Any]) -> None:
    """Adds a line. After half a line it begins a new one, or both would be lost."""
    line = json.dumps(record, sort_keys=True) + "\n"
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, 2)
            line = line if file.read(1) == b"\n" else f"\n{line}"
        file.write(line.encode())
