"""Times that a wrong clock has left in the future: Snakemake goes by contents all the same, and finishes."""

import os
import time
from pathlib import Path

import pytest

from tests.checkouts.exchanged import END, SCORE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checkout(exchanged, tmp_path_factory):
    return exchanged.copy(tmp_path_factory.mktemp("clocks") / "one")


def from_the_future(path: Path) -> None:
    ahead = time.time() + 3 * 86400
    os.utime(path, (ahead, ahead))


def test_results_of_a_clock_that_was_ahead(checkout):
    for root in ("data", "reports"):
        for path in (checkout.path / root).rglob("*"):
            from_the_future(path)
    assert checkout.planned() == set()
    checkout.edit("params.yaml", "alpha: 0.1", "alpha: 0.2")
    stale = checkout.planned()
    assert SCORE <= stale <= SCORE | END
    checkout.snakemake()
    assert checkout.planned() == set() and checkout.dvc_status() == {}


def test_sources_that_are_ahead(checkout):
    """An archive from another time zone, a share whose server is ahead: nothing to do with what runs."""
    for path in (checkout.path / "docs/published").iterdir():
        from_the_future(path)
    for name in ("models.lock", "decisions/exchange"):
        from_the_future(checkout.path / name)
    assert checkout.planned() == set()
    checkout.edit("docs/published/kostumov.csv", "\n", "\r\n")
    from_the_future(checkout.path / "docs/published/kostumov.csv")
    assert checkout.planned() == {"report"}
    checkout.snakemake()
    assert checkout.planned() == set()
