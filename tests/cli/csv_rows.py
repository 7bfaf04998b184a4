"""CSV files as a person's spreadsheet reads and writes them."""

import csv
from pathlib import Path


def load(path: Path) -> list[dict[str, str]]:
    """Rows by column."""
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def save(path: Path, rows: list[dict[str, str]]) -> None:
    """Writes rows, all of which have the columns of the first."""
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
