"""Edits of what is asked, and of whom: models, datasets and prompts; each runs exactly what depends on it."""

import pytest

from tests.checkouts.edits import replace, runs_exactly
from tests.checkouts.exchanged import BORROWED, END, LIKEN, RIGHT, SCORE

pytestmark = pytest.mark.slow

PREPARED = {"prepare@right", "rewrite@right", "vary@right", "embed@right"}
EDITS = [
    # name, edit, stages DVC runs, stages Snakemake runs
    (
        "one model's pin",
        replace("models.lock", "dtype: float32", "dtype: bfloat16"),
        {"pin@borrowed", *BORROWED, "score@borrowed", *LIKEN, *END},
        {"pin@borrowed", *BORROWED, "score@borrowed", *LIKEN, *END},
    ),
    # prepare and rewrite watch the whole entry, and come out the same
    (
        "one dataset's variations",
        replace("params.yaml", "items: 20}", "items: 20}, variations: [original, vr_b]"),
        {"prepare@right", "rewrite@right", "vary@right", *RIGHT, *SCORE, *LIKEN, *END},
        {*PREPARED, *RIGHT, *SCORE, *LIKEN, *END},
    ),
    (
        "one dataset",
        replace("params.yaml", "items: 20", "items: 18"),
        {*PREPARED, *RIGHT, *SCORE, *LIKEN, *END},
        {*PREPARED, *RIGHT, *SCORE, *LIKEN, *END},
    ),
    (
        "one prompt template",
        replace("vouch/prompts/templates/plain.yaml", "Answer with", "Reply with"),
        {"vary@right", *RIGHT, *SCORE, *LIKEN, *END},
        {"vary@right", *RIGHT, *SCORE, *LIKEN, *END},
    ),
]


@pytest.mark.parametrize(("name", "edit", "by_dvc", "by_snakemake"), EDITS, ids=[e[0] for e in EDITS])
def test_an_edit_runs_exactly_this(copies, name, edit, by_dvc, by_snakemake):
    runs_exactly(copies, edit, by_dvc, by_snakemake)
