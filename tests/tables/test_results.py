"""When an answer counts as flipped, which spelling of letters was scored, and which lines of a file of decisions count."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.refusals import refused
from vouch.tables.decisions import LONGEST_CELL, decided_rows
from vouch.tables.results import OUTCOMES, REFUSAL, UNPARSED, contents, flips, grades, other_spelling_scored

PLAIN = {"chosen": 1, "correct": True, "clean_correct": None}
YES = {"answer": "yes", "parser": "yes_no", "correct": True}
NAN = np.nan


@pytest.mark.parametrize(
    ("original", "other", "kept", "found"),
    [
        (PLAIN, {"chosen": 1}, True, 0),
        (PLAIN, {"chosen": 2}, True, 1),
        (PLAIN | {"correct": False}, {"chosen": 2}, True, 1),
        (PLAIN, {"chosen": 1}, False, 1),
        (PLAIN, {"chosen": 2}, False, 0),
        (PLAIN | {"correct": False}, {"chosen": 1}, False, NAN),
        (PLAIN | {"clean_correct": 0.5}, {"chosen": 1}, False, NAN),  # a tie at the top is no right answer
        (PLAIN | {"correct": False, "clean_correct": 1.0}, {"chosen": 1}, False, 1),
        (YES, {"answer": "yes", "parser": "exact"}, True, 0),  # what was said counts, not who read it
        (YES, {"answer": "no", "parser": "yes_no"}, True, 1),
        (YES, {"answer": "yes", "parser": UNPARSED}, True, 1),
        ({"answer": "", "parser": UNPARSED}, {"answer": "", "parser": UNPARSED}, True, 1),
        ({"answer": "", "parser": REFUSAL}, {"answer": "", "parser": REFUSAL}, True, 1),
        (YES, {"answer": "yes", "parser": REFUSAL}, False, 0),
        (YES | {"chosen": 0}, {"answer": "Yes!", "parser": "contains", "chosen": 0}, True, 0),
        ({"chosen": None}, {"chosen": None}, True, 1),
    ],
)
def test_flips(original, other, kept, found):
    rows = pa.Table.from_pylist([original, other], OUTCOMES.schema)
    answer, grade = contents(rows), grades(rows)
    flipped = flips(answer[1:], answer[:1], grade[:1], np.array([kept]))
    np.testing.assert_array_equal(flipped, [found])


def test_no_rows():
    none = OUTCOMES.schema.empty_table()
    assert contents(none).shape == grades(none).shape == (0,)


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


@pytest.mark.parametrize(
    ("confidence", "stored", "other", "expected"),
    [
        ([0.9, 0.8], [0.9, 0.8], [0.6, 0.7], False),
        ([0.9, 0.8], [0.6, 0.7], [0.9, 0.8], True),
        ([0.5, 0.9], [0.5, 0.2], [0.6, 0.9], True),  # all rows together, as rounding may favour the wrong one
        ([0.9, NAN], [0.6, NAN], [0.9, 0.1], True),  # an answer that was not scored decides nothing
        ([0.9, 0.8], [0.9 - 1e-8, 0.8 + 1e-8], [NAN, 0.8], True),
        ([0.9, 0.8], [0.8, 0.8], [NAN, 0.7], False),  # only of rows that have both
        ([0.9], [0.6], [NAN], False),
        ([], [], [], False),
    ],
)
def test_the_spelling_that_was_scored_gives_the_confidence(confidence, stored, other, expected):
    arrays = (np.array(values, dtype=float) for values in (confidence, stored, other))
    assert other_spelling_scored(*arrays) == expected
