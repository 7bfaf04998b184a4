"""What the files here share: the small profile is run once, however many workers run the tests."""

import fcntl
from pathlib import Path

import pytest

from tests.pipeline.checkout import Checkout


@pytest.fixture(scope="session")
def finished(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout of the small profile that DVC has run, committed. It is for all: change a copy of it."""
    folder: Path = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):  # a worker of xdist: its folder lies in the one of the run
        folder = folder.parent
    path, done = folder / "finished", folder / "finished.done"
    with (folder / "finished.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            checkout = Checkout(path)
            checkout.repro()
            checkout.commit("results")
            done.touch()
    return Checkout.at(path)
