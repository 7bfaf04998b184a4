"""Two runners, users and places: the same bytes, the hand-over, and exactly what each runs after an edit."""

import pytest

from tests.checkouts.checkout import SECOND, SECOND_PATH, Checkout
from tests.checkouts.edits import REVISION, VARIATIONS
from tests.checkouts.small import begun

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def by_dvc(finished, tmp_path_factory):
    return finished.copy(tmp_path_factory.mktemp("dvc") / "one")


@pytest.fixture(scope="module")
def by_snakemake(tiny, tmp_path_factory):
    checkout = begun(tmp_path_factory.mktemp("snake") / SECOND_PATH, tiny, SECOND)
    checkout.snakemake()
    return checkout


def receipts(checkout: Checkout) -> dict[str, int]:
    """Stage -> when it ended last."""
    names = checkout.names()
    folder = checkout.path / ".vouch/receipts"
    return {names[path.stem]: path.stat().st_mtime_ns for path in folder.glob("*.json")}


def test_same_bytes(by_dvc, by_snakemake):
    assert len(by_dvc.digests()) > 20
    assert by_dvc.digests() == by_snakemake.digests()


def test_snakemake_ends_by_recording_for_dvc(by_snakemake):
    assert by_snakemake.dvc_status() == {}
    assert by_snakemake.planned() == set()
    assert by_snakemake.repro() == set()


def test_after_dvc_snakemake_has_nothing_to_do(by_dvc):
    assert by_dvc.dvc_status() == {}
    assert by_dvc.planned() == set()


def test_a_report_of_snakemake_carries_every_figure(by_snakemake):
    by_snakemake.run("snakemake", "--report", "one.html")
    text = (by_snakemake.path / "one.html").read_text("utf-8")
    (by_snakemake.path / "one.html").unlink()
    names = [path.name for path in (by_snakemake.path / "reports/figures").glob("*.svg")]
    assert len(names) > 5 and [name for name in names if f"figures/{name}" not in text] == []
    assert by_snakemake.planned() == set()


@pytest.mark.parametrize("edit", [REVISION, VARIATIONS], ids=lambda edit: edit.name)
def test_dvc_runs_exactly_this(by_dvc, edit):
    edit.make(by_dvc)
    assert by_dvc.planned() == edit.below, "snakemake -n right after the edit"
    assert by_dvc.repro() == edit.by_dvc
    assert by_dvc.planned() == set() and by_dvc.dvc_status() == {}


def test_snakemake_runs_exactly_this(by_dvc, by_snakemake):
    """Both edits at once."""
    REVISION.make(by_snakemake)
    VARIATIONS.make(by_snakemake)
    before = receipts(by_snakemake)
    by_snakemake.snakemake()
    after = receipts(by_snakemake)
    assert {name for name in after if before.get(name) != after[name]} == REVISION.below | VARIATIONS.below
    assert by_snakemake.dvc_status() == {} and by_snakemake.repro() == set()
    assert by_snakemake.digests() == by_dvc.digests()
