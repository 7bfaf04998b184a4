"""docs/papers.md: what it says of the five papers can be looked up, and its counts are right."""

import ast
import re
from collections import Counter

import pytest

from tests.models.project import ROOT

PAGE = (ROOT / "docs/papers.md").read_text("utf-8")
PAPERS = {"K": "Kostumov", "A": "Azad", "R": "ReForm-Eval", "T": "Tu", "P": "PARC"}
STATES = ("works", "partly", "no")
COLUMNS = 6
LEAST_ROWS, LEAST_WORKING = 137, 121  # go down only where a row is found to lack something
TEST = re.compile(r"(tests/[\w/]+\.py)(?:::(\w+))?")
FILE = re.compile(r"(?<![\w/])(?:vouch|stages|profiles|docs|drivers|tools)/[\w/.-]*\.\w+")
COMMAND = re.compile(r"`(?:vouch|make|dvc|snakemake|python|grep) ")

ROWS = {
    row: [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
    for row, line in re.findall(r"^\| ([A-Z]\d\d) \| (.*) \|$", PAGE, flags=re.MULTILINE)
}


def test_the_counts_are_those_of_the_rows() -> None:
    lines = re.findall(r"^\| (\w[\w-]*) \| ([\d| ]+) \|$", PAGE, flags=re.MULTILINE)
    printed = {name: [int(cell) for cell in numbers.split("|")] for name, numbers in lines}
    count = Counter((row[0], cells[3]) for row, cells in ROWS.items())
    counted = {name: [count[letter, state] for state in STATES] for letter, name in PAPERS.items()}
    counted["all"] = [sum(column) for column in zip(*counted.values(), strict=True)]
    assert printed == {name: [*numbers, sum(numbers)] for name, numbers in counted.items()}
    assert len(ROWS) >= LEAST_ROWS and counted["all"][0] >= LEAST_WORKING


@pytest.mark.parametrize("row", ROWS)
def test_a_row_names_what_exists(row: str) -> None:
    cells = ROWS[row]
    assert len(cells) == COLUMNS - 1, f"{row} has {len(cells) + 1} columns"
    _, where, shown, state, missing = cells
    assert state in STATES and (missing or state == "works")
    for file in FILE.findall(where + shown):
        assert (ROOT / file).exists(), file
    tests = TEST.findall(shown)
    assert tests or COMMAND.search(shown) or state != "works", "neither a test nor a command"
    for file, name in tests:
        tree = ast.parse((ROOT / file).read_text("utf-8"))
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert not name or name in names, f"{file} has no {name}"
