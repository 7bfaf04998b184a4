"""One finished checkout for all tests, however many workers run them: change a copy of it."""

from pathlib import Path

import pytest
from filelock import FileLock

from tests.checkouts.checkout import Checkout
from tests.checkouts.small import begun


@pytest.fixture(scope="session")
def finished(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tiny: Path
) -> Checkout:
    """The small profile with a trained and a borrowed model, made by `dvc repro` from nothing and committed.

    The first worker that asks makes it, the others wait; it lies in the folder of this run of pytest.
    """
    root: Path = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):  # a worker of xdist: its folder lies in the one of the run
        root = root.parent
    done = root / "finished/done"
    with FileLock(root / "finished.lock"):
        if not done.exists():
            made = begun(root / "finished/one", tiny)
            assert made.repro() == set(made.names().values())
            made.commit("results")
            done.touch()
    return Checkout.at(root / "finished/one")
