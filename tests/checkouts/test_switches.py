"""Other profiles, models that are gone, outputs edited by hand: what stays, what is refused."""

import shutil
from pathlib import Path

import pytest

from tests.checkouts.exchanged import END, LIKEN, SCORE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checkout(exchanged, tmp_path_factory):
    return exchanged.copy(tmp_path_factory.mktemp("switches") / "one")


@pytest.mark.parametrize(
    "file", ["reports/index.html", "data/items/left.parquet", "data/models/tiny_a/config.json"]
)
def test_sync_refuses_an_output_that_was_edited(checkout, file):
    path: Path = checkout.path / file
    original = path.read_bytes()
    lock = (checkout.path / "dvc.lock").read_bytes()
    path.write_bytes(original + b" ")
    try:
        refused = checkout.vouch("store", "sync", check=False)
        assert refused.returncode == 1
        assert "changed" in refused.stderr
        assert (checkout.path / "dvc.lock").read_bytes() == lock
        assert checkout.planned() != set(), "Snakemake must see it too"
    finally:
        path.write_bytes(original)
    assert checkout.vouch("store", "sync").returncode == 0
    assert checkout.planned() == set()


def test_numbers_of_other_parameters_are_told(checkout):
    assert checkout.vouch("show").stderr == ""
    params = (checkout.path / "params.yaml").read_bytes()
    checkout.edit("params.yaml", "alpha: 0.1", "alpha: 0.2")
    shown = checkout.vouch("show")
    assert "(params.yaml: score.alpha changed from 0.1 to 0.2)" in shown.stderr
    assert shown.stderr.count("\n") == 1 and "accuracy" in shown.stdout
    (checkout.path / "params.yaml").write_bytes(params)
    assert checkout.vouch("show").stderr == ""


def test_switch_of_profile_and_back(checkout):
    """A -> B -> A: nothing is computed that was computed before, nothing of the other profile stays."""
    digests = checkout.digests()
    shutil.copy(checkout.path / "params.yaml", checkout.path / "profiles/a.yaml")
    text = (checkout.path / "params.yaml").read_text("utf-8")
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("  right:")]
    (checkout.path / "profiles/b.yaml").write_text("".join(lines), "utf-8")

    checkout.vouch("use", "b")
    assert not list((checkout.path / "data").rglob("right*"))
    assert checkout.repro() == SCORE | LIKEN | END - {"browse@right"}
    assert checkout.planned() == set()
    assert all("right" not in path for path in checkout.digests())
    checkout.vouch("use", "a")
    assert checkout.repro() == set()
    assert checkout.digests() == digests
    assert checkout.planned() == set()
    assert checkout.dvc_status() == {}


def test_a_removed_model_leaves_no_rows(checkout):
    checkout.edit("params.yaml", "models: [tiny_a, borrowed]", "models: [tiny_a]")
    checkout.edit("params.yaml", "pin: {borrowed: ../weights}", "pin: {}")
    checkout.edit("params.yaml", "unpinned: [borrowed]", "unpinned: []")
    refused = checkout.dvc("repro", check=False)
    assert refused.returncode != 0 and "vouch store prune" in refused.stderr + refused.stdout
    assert checkout.planned() == {"compare", "report"}, (
        "those whose parameters changed; prune changes folders"
    )
    checkout.vouch("store", "prune")
    assert checkout.repro() == LIKEN | END
    assert checkout.planned() == set()
    for table in (checkout.path / "reports/tables").glob("*.csv"):
        assert "borrowed" not in table.read_text("utf-8")
    assert "borrowed" not in (checkout.path / "reports/index.html").read_text("utf-8")
