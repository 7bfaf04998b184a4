"""Which line of a file of decisions is said to be wrong."""

from pathlib import Path

import pytest

from tests.refusals import refused
from vouch.tables.decisions import LONGEST_CELL, decided_rows

LONG = "x" * (LONGEST_CELL + 1)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (f"a,yes\n{LONG},yes\n", "line 3: not CSV .field larger .* shorten its cells"),
        (f'"a\na",yes\n{LONG},yes\n', "line 4: not CSV"),
        ('a,yes\n"b,yes\nc,yes\n', "lines 3 to 4: not CSV .unexpected end.* close its quotes"),
        ("a,yes\n\n\n\nb,yes,no\n", "line 6: has not as many fields"),
    ],
)
def test_a_row_that_is_none_is_named_by_its_own_line(tmp_path: Path, rows: str, said: str) -> None:
    path = tmp_path / "decisions.csv"
    path.write_text(f"text,decision\n{rows}", "utf-8")
    with refused(said):
        list(decided_rows(path, ("text", "decision"), "decision"))
    path.write_text(f"{LONG},decision\n", "utf-8")
    with refused("line 1: not CSV"):
        list(decided_rows(path, ("text", "decision"), "decision"))
