"""Other profiles, models that are gone, outputs edited by hand: what stays, what is refused."""

import pytest

from tests.checkouts.checkout import ran
from tests.checkouts.small import END, TEXTS, TRAINED, borrowing
from vouch.cli.main import main

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checkout(finished, tmp_path_factory):
    return finished.copy(tmp_path_factory.mktemp("switches") / "one")


@pytest.mark.parametrize(
    "file", ["reports/index.html", "data/items/left.parquet", "data/trained/tiny_a/config.json"]
)
def test_sync_refuses_an_output_that_was_edited(checkout, file, capfd, monkeypatch):
    monkeypatch.chdir(checkout.path)
    path = checkout.path / file
    original, lock = path.read_bytes(), (checkout.path / "dvc.lock").read_bytes()
    path.write_bytes(original + b" ")
    try:
        assert main(["store", "sync"]) == 1
        assert "changed" in capfd.readouterr().err
        assert (checkout.path / "dvc.lock").read_bytes() == lock
        assert checkout.stale() != set(), "Snakemake must see it too"
    finally:
        path.write_bytes(original)
    assert main(["store", "sync"]) == 0
    assert checkout.stale() == set()


def test_numbers_of_other_parameters_are_told(checkout, capfd, monkeypatch):
    def shown() -> tuple[str, str]:
        assert main(["show"]) == 0
        return capfd.readouterr()

    monkeypatch.chdir(checkout.path)
    assert shown()[1] == ""
    params = (checkout.path / "params.yaml").read_bytes()
    checkout.set("score.alpha", 0.2)
    out, told = shown()
    assert "(params.yaml: score.alpha changed from 0.1 to 0.2)" in told
    assert told.count("\n") == 1 and "Accuracy" in out
    (checkout.path / "params.yaml").write_bytes(params)
    assert shown()[1] == ""


def test_without_a_model_and_a_dataset_and_back(checkout, monkeypatch):
    """A -> B -> A -> B: nothing is computed that was computed before, nothing of the other profile stays."""
    monkeypatch.chdir(checkout.path)
    digests = checkout.digests()
    for name, text in (("a", borrowing()), ("b", borrowing([TRAINED], ["left"]))):
        (checkout.path / f"profiles/{name}.yaml").write_text(text, "utf-8")
    (checkout.path / "params.yaml").write_text(borrowing([TRAINED], ["left"]), "utf-8")
    done = checkout.dvc("repro")
    assert ran(done.stdout) == {"judge@left", "score@left", *TEXTS, *END} - {"browse@right"}
    told = [line for line in done.stderr.splitlines() if "`vouch store restore` brings it back" in line]
    assert len(told) == 1 and ": no stage of this profile makes it, so it is now in .vouch/unused" in told[0]
    assert not (checkout.path / "reports/items/right/index.js").exists(), "nobody publishes it"
    assert checkout.planned() == set() and checkout.dvc_status() == {}
    assert main(["store", "restore"]) == 0
    assert checkout.repro() == set() or checkout.repro() == set(), "moved again"
    assert main(["store", "prune"]) == 0
    assert not [path for path in (checkout.path / "data").rglob("*") if "right" in path.name]
    assert not [path for path in checkout.digests() if "right" in path or "borrowed" in path]
    for table in (checkout.path / "reports/tables").glob("*.csv"):
        assert "borrowed" not in table.read_text("utf-8")
    assert "borrowed" not in (checkout.path / "reports/index.html").read_text("utf-8")
    smaller = checkout.digests()

    assert main(["use", "a"]) == 0
    assert checkout.repro() == set()
    assert checkout.digests() == digests
    assert checkout.planned() == set() and checkout.dvc_status() == {}
    assert main(["use", "b"]) == 0
    assert not list((checkout.path / "data").rglob("right*")), "`use` prunes"
    assert checkout.repro() == set()
    assert checkout.digests() == smaller
