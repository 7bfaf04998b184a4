"""Edits of code and of the parameters of late stages run exactly what depends on them."""

import pytest

from tests.checkouts.edits import comment, raise_revision, replace, runs_exactly
from tests.checkouts.exchanged import BROWSE, END, EXTRACT, LIKEN, SCORE

pytestmark = pytest.mark.slow

EDITS = [
    # name, edit, stages DVC runs, stages Snakemake runs
    ("nothing", lambda checkout: None, set(), set()),
    ("a comment in report code", comment("stages/report.py"), {"report"}, {"report"}),
    (
        "a comment in the engine",
        comment("vouch/models/engines/transformers.py"),
        EXTRACT,
        EXTRACT | SCORE | LIKEN | END,
    ),
    ("alpha", replace("params.yaml", "alpha: 0.1", "alpha: 0.2"), SCORE | END, SCORE | END),
    # the engine's name and revision are a column of the letters, which the report tells; the scores do not change
    (
        "the engine's REVISION",
        raise_revision,
        EXTRACT | SCORE | LIKEN | BROWSE | {"report"},
        EXTRACT | SCORE | LIKEN | END,
    ),
    ("a comment in runtime code", comment("vouch/pipeline/terminal.py"), set(), set()),
]


@pytest.mark.parametrize(("name", "edit", "by_dvc", "by_snakemake"), EDITS, ids=[e[0] for e in EDITS])
def test_an_edit_runs_exactly_this(copies, name, edit, by_dvc, by_snakemake):
    runs_exactly(copies, edit, by_dvc, by_snakemake)
