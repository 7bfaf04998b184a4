"""One edit at a time: exactly which stages each engine runs, in both orders of the engines.

DVC stops where an output came out the same; Snakemake runs all that is downstream of what it runs.
"""

import shutil
from pathlib import Path

import pytest

from stages.yaml12 import loads
from tests.pipeline.checkout import ROOT, Checkout

pytestmark = pytest.mark.slow

MODELS, DATASETS = ("tiny_a", "borrowed"), ("left", "right")
EXTRACT = {f"extract@{m}-{d}" for m in MODELS for d in DATASETS}
SCORE = {f"score@{m}" for m in MODELS}
END = {"compare", "report"}
RIGHT = {"extract@tiny_a-right", "extract@borrowed-right"}
LOCK = "models:\n  borrowed:\n    source: {kind: folder, path: ../weights}\n    dtype: float32\n"


def params() -> str:
    text = (ROOT / "profiles/small.yaml").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("  tiny_b:")]
    text = (
        "\n".join(lines)
        .replace("tiny_a, tiny_b", "tiny_a, borrowed")
        .replace("pin: {}", "pin: {borrowed: ../weights}")
        .replace("unpinned: []", "unpinned: [borrowed]")
    )
    assert loads(text, "params")["models"] == list(MODELS)
    return text + "\n"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A checkout with a trained and a pinned model, all stages run by DVC."""
    checkout = Checkout(tmp_path_factory.mktemp("edits") / "base", params=params(), profile=None)
    (checkout.path / "models.lock").write_text(LOCK, "utf-8")
    checkout.dvc("repro", "zoo@tiny_a")
    shutil.copytree(checkout.path / "data/models/tiny_a", checkout.path.parent / "weights")
    ran = checkout.repro()
    assert ran == set(checkout.names().values()) - {"zoo@tiny_a"}
    checkout.commit("base")
    return checkout


@pytest.fixture(scope="module")
def copies(base, tmp_path_factory):
    """One copy for each order of the engines, beside the weights."""
    folder = tmp_path_factory.mktemp("copies")
    shutil.copytree(base.path.parent / "weights", folder / "weights")
    pair = []
    for name in ("dvc-first", "snakemake-first"):
        copy = Checkout.__new__(Checkout)
        copy.path = folder / name
        shutil.copytree(base.path, copy.path, symlinks=True)
        pair.append(copy)
    return pair


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
        {"pin@borrowed", "extract@borrowed-left", "extract@borrowed-right", "score@borrowed", *END},
        {"pin@borrowed", "extract@borrowed-left", "extract@borrowed-right", "score@borrowed", *END},
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


def test_switch_of_profile_and_back(copies):
    """A -> B -> A: nothing is computed that was computed before, nothing of the other profile stays."""
    checkout = copies[0]
    digests = checkout.digests()
    shutil.copy(checkout.path / "params.yaml", checkout.path / "profiles/a.yaml")
    text = (checkout.path / "params.yaml").read_text("utf-8")
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("  right:")]
    (checkout.path / "profiles/b.yaml").write_text("".join(lines), "utf-8")

    checkout.vouch("use", "b")
    assert not list((checkout.path / "data").rglob("right*"))
    assert checkout.repro() == SCORE | END
    assert checkout.planned() == set()
    assert all("right" not in path for path in checkout.digests())
    checkout.vouch("use", "a")
    assert checkout.repro() == set()
    assert checkout.digests() == digests
    assert checkout.planned() == set()
    assert checkout.dvc_status() == {}


def test_a_removed_model_leaves_no_rows(copies):
    checkout = copies[0]
    checkout.edit("params.yaml", "models: [tiny_a, borrowed]", "models: [tiny_a]")
    checkout.edit("params.yaml", "pin: {borrowed: ../weights}", "pin: {}")
    checkout.edit("params.yaml", "unpinned: [borrowed]", "unpinned: []")
    refused = checkout.dvc("repro", check=False)
    assert refused.returncode != 0 and "vouch prune" in refused.stderr + refused.stdout
    assert checkout.planned() == END
    checkout.vouch("prune")
    assert checkout.repro() == END
    assert checkout.planned() == set()
    for table in (checkout.path / "reports/tables").glob("*.csv"):
        assert "borrowed" not in table.read_text("utf-8")
    assert "borrowed" not in (checkout.path / "reports/index.html").read_text("utf-8")


@pytest.mark.parametrize(
    "file", ["reports/index.html", "data/items/left.parquet", "data/models/tiny_a/config.json"]
)
def test_sync_refuses_an_output_that_was_edited(copies, file):
    checkout = copies[1]
    path: Path = checkout.path / file
    original = path.read_bytes()
    lock = (checkout.path / "dvc.lock").read_bytes()
    path.write_bytes(original + b" ")
    try:
        refused = checkout.vouch("sync", check=False)
        assert refused.returncode == 1
        assert "changed" in refused.stderr
        assert (checkout.path / "dvc.lock").read_bytes() == lock
        assert checkout.planned() != set(), "Snakemake must see it too"
    finally:
        path.write_bytes(original)
    assert checkout.vouch("sync").returncode == 0
    assert checkout.planned() == set()
