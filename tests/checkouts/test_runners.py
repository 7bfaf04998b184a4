"""Snakemake from an empty checkout: the bytes of DVC, the hand-over to DVC, what an edit runs."""

import pytest

from tests.checkouts.checkout import SECOND, SECOND_PATH, Checkout
from tests.checkouts.edits import FORMULA
from tests.checkouts.small import begun

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def by_snakemake(tiny, tmp_path_factory):
    """Made by another user in another place than `finished`."""
    checkout = begun(tmp_path_factory.mktemp("snake") / SECOND_PATH, tiny, SECOND)
    checkout.snakemake()
    return checkout


def receipts(checkout: Checkout) -> dict[str, int]:
    """Stage -> when it ended last."""
    names = checkout.names()
    folder = checkout.path / ".vouch/receipts"
    return {names[path.stem]: path.stat().st_mtime_ns for path in folder.glob("*.json")}


def test_same_bytes(finished, by_snakemake):
    assert len(finished.digests()) > 20
    assert finished.digests() == by_snakemake.digests()


def test_snakemake_ends_by_recording_for_dvc(by_snakemake):
    assert by_snakemake.dvc_status() == {}
    assert by_snakemake.planned() == set()
    assert by_snakemake.repro() == set()


def test_a_report_of_snakemake_carries_every_figure(by_snakemake):
    by_snakemake.run("snakemake", "--report", "one.html")
    text = (by_snakemake.path / "one.html").read_text("utf-8")
    (by_snakemake.path / "one.html").unlink()
    names = [path.name for path in (by_snakemake.path / "reports/figures").glob("*.svg")]
    assert len(names) > 5 and [name for name in names if f"figures/{name}" not in text] == []
    assert by_snakemake.planned() == set()


def test_snakemake_runs_exactly_this(by_snakemake):
    """Also what is downstream of outputs that came out the same, where DVC stops."""
    before, began = by_snakemake.digests(), receipts(by_snakemake)
    FORMULA.make(by_snakemake)
    by_snakemake.snakemake()
    ended = receipts(by_snakemake)
    assert {name for name in ended if began.get(name) != ended[name]} == FORMULA.below
    assert by_snakemake.digests() == before
    assert by_snakemake.dvc_status() == {} and by_snakemake.repro() == set()
