"""One edit at a time: exactly which stages each engine runs, in both orders of the engines.

DVC stops where an output came out the same; Snakemake runs all that is downstream of what it runs.
"""

import pytest

from tests.pipeline.exchanged import BORROWED, END, EXTRACT, RIGHT, SCORE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def copies(exchanged, tmp_path_factory):
    """One copy for each order of the engines."""
    return [
        exchanged.copy(tmp_path_factory.mktemp(name) / "one") for name in ("dvc-first", "snakemake-first")
    ]


def comment(file):
    def edit(checkout):
        path = checkout.path / file
        path.write_text(path.read_text("utf-8") + "\n# a remark\n", "utf-8")

    return edit


def replace(file, old, new):
    return lambda checkout: checkout.edit(file, old, new)


def raise_revision(checkout):
    path = checkout.path / "stages/extract/engines/transformers.py"
    line = next(line for line in path.read_text("utf-8").splitlines() if line.startswith("REVISION"))
    checkout.edit("stages/extract/engines/transformers.py", line, "REVISION = 999")


EDITS = [
    # name, edit, stages DVC runs, stages Snakemake runs
    ("nothing", lambda checkout: None, set(), set()),
    ("a comment in report code", comment("stages/report/__main__.py"), {"report"}, {"report"}),
    (
        "a comment in the engine",
        comment("stages/extract/engines/transformers.py"),
        EXTRACT,
        EXTRACT | SCORE | END,
    ),
    ("alpha", replace("params.yaml", "alpha: 0.1", "alpha: 0.2"), SCORE | END, SCORE | END),
    (
        "one model's pin",
        replace("models.lock", "dtype: float32", "dtype: bfloat16"),
        {"pin@borrowed", *BORROWED, "score@borrowed", *END},
        {"pin@borrowed", *BORROWED, "score@borrowed", *END},
    ),
    # prepare and rewrite watch the whole entry, and come out the same
    (
        "one dataset's variations",
        replace("params.yaml", "items: 20}", "items: 20}, variations: [original, vr_b]"),
        {"prepare@right", "rewrite@right", "vary@right", *RIGHT, *SCORE, *END},
        {"prepare@right", "rewrite@right", "vary@right", *RIGHT, *SCORE, *END},
    ),
    (
        "one dataset",
        replace("params.yaml", "items: 20", "items: 18"),
        {"prepare@right", "rewrite@right", "vary@right", *RIGHT, *SCORE, *END},
        {"prepare@right", "rewrite@right", "vary@right", *RIGHT, *SCORE, *END},
    ),
    (
        "one prompt template",
        replace("stages/styles/plain.yaml", "Answer with", "Reply with"),
        {"vary@right", *RIGHT, *SCORE, *END},
        {"vary@right", *RIGHT, *SCORE, *END},
    ),
    # the engine's name and revision are a column of the letters; the scores do not change
    ("the engine's REVISION", raise_revision, EXTRACT | SCORE, EXTRACT | SCORE | END),
    ("a comment in runtime code", comment("stages/runtime/progress.py"), set(), set()),
]


@pytest.mark.parametrize(("name", "edit", "by_dvc", "by_snakemake"), EDITS, ids=[e[0] for e in EDITS])
def test_an_edit_runs_exactly_this(copies, name, edit, by_dvc, by_snakemake):
    dvc_first, snakemake_first = copies
    edit(dvc_first)
    assert dvc_first.planned() == by_snakemake, "snakemake -n right after the edit"
    before = (dvc_first.path / "dvc.lock").read_text("utf-8")
    refused = dvc_first.vouch("sync", check=False)
    assert (refused.returncode != 0) == bool(by_dvc), refused.stdout + refused.stderr
    assert (dvc_first.path / "dvc.lock").read_text("utf-8") == before, "sync blessed something stale"
    assert dvc_first.repro() == by_dvc
    assert dvc_first.planned() == set(), "snakemake -n after dvc repro"
    assert dvc_first.dvc_status() == {}

    edit(snakemake_first)
    started = receipts(snakemake_first)
    snakemake_first.snakemake()
    assert changed(started, receipts(snakemake_first), snakemake_first) == by_snakemake
    assert snakemake_first.dvc_status() == {}
    assert snakemake_first.repro() == set()
    assert snakemake_first.digests() == dvc_first.digests()


def receipts(checkout):
    folder = checkout.path / ".vouch/receipts"
    return {path.stem: path.stat().st_mtime_ns for path in folder.glob("*.json")}


def changed(before, after, checkout):
    names = checkout.names()
    return {names[slug] for slug, when in after.items() if before.get(slug) != when}
