"""The headline table: how often each model is right, how sure it is, and whether that is honest."""

import argparse
from pathlib import Path
from typing import Any

from stages.console.layout import table
from stages.contracts.compared import STANDINGS, STANDINGS_PATH

_COLUMNS = (
    ("accuracy", "", "accuracy"),
    ("coverage", "lac", "coverage LAC"),
    ("coverage", "aps", "coverage APS"),
    ("set_size", "lac", "set size LAC"),
    ("set_size", "aps", "set size APS"),
    ("uacc", "mean", "UAcc"),
    ("ece", "", "ECE"),
)
REPORT = Path("reports/index.html")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch show`."""
    parser.add_argument(
        "--reading", choices=("clean", "faithful"), default="clean", help="which reading to show"
    )


def run(options: argparse.Namespace) -> int:
    """Prints the table and where the report is."""
    rows = STANDINGS.read(STANDINGS_PATH).to_pylist()
    print(headline(rows, options.reading), end="")
    if REPORT.exists():
        print(f"report: {REPORT}")
    return 0


def headline(rows: list[dict[str, Any]], reading: str) -> str:
    """The table of one reading: a line per dataset, variation and model, best accuracy first."""
    cells: dict[tuple[str, str, str], dict[tuple[str, str], dict[str, Any]]] = {}
    for row in rows:
        if row["reading"] == reading and row["category"] == "all":
            key = (row["dataset"], row["variation"], row["model"])
            cells.setdefault(key, {})[row["metric"], row["score"]] = row
    accuracy = ("accuracy", "")
    order = sorted(
        cells, key=lambda key: (key[0], key[1], -(cells[key].get(accuracy, {}).get("value") or 0), key[2])
    )
    lines = [
        [*key, *(_number(cells[key].get((metric, score))) for metric, score, _ in _COLUMNS)] for key in order
    ]
    head = ["dataset", "variation", "model", *(label for _, _, label in _COLUMNS)]
    return table(head, lines, right=set(range(3, len(head))))


def _number(row: dict[str, Any] | None) -> str:
    if row is None or row["value"] is None:
        return "n.a."
    interval = "" if row["low"] is None else f" [{row['low']:.3f}, {row['high']:.3f}]"
    return f"{row['value']:.3f}{interval}"
