"""docs/tutorial.md and docs/tutorial-papers.md, run from top to bottom: every output is the one on the page."""

import shutil
from pathlib import Path

import pytest

from tests.checkouts.checkout import ROOT, SHARED, Checkout
from tests.docs.page import runner, today
from tests.release import lay_out_real

RELEASED = SHARED / "reference/vlm-uncertainty-bench"
WRITE = (
    "other outputs: `python -m tests.docs.page CHECKOUT PAGE` writes them into the page; then read its prose"
)
pytestmark = pytest.mark.slow


@pytest.fixture
def clone(tmp_path: Path) -> Checkout:
    """A checkout with the stored results that come with the repository."""
    if not (ROOT / ".dvc/storage/files").is_dir():
        pytest.skip("needs the stored weights of the demo models, .dvc/storage")
    checkout = Checkout(tmp_path / "vouch")
    for name in ("params.yaml", "dvc.lock"):
        shutil.copy(ROOT / name, checkout.path / name)
    (checkout.path / ".dvc/storage").symlink_to(ROOT / ".dvc/storage")
    return checkout


def test_from_two_models_to_a_decision(clone: Checkout) -> None:
    page = (ROOT / "docs/tutorial.md").read_text("utf-8")
    assert today(page, runner(clone)) == page, WRITE
    report = (clone.path / "reports/pages/calibration.html").read_text("utf-8")
    assert 'id="answering"' in report and 'id="transfer"' in report, "the parts that the pictures show"


@pytest.mark.skipif(not RELEASED.exists(), reason="needs two of the files that Kostumov et al. released")
def test_from_a_table_of_a_paper_to_intervals(clone: Checkout) -> None:
    page = (ROOT / "docs/tutorial-papers.md").read_text("utf-8")
    assert (
        today(page, runner(clone, {"git clone": lambda: lay_out_real(clone.path.parent / "bench", RELEASED)}))
        == page
    ), WRITE
