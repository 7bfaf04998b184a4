"""What the files here share: made once, however many workers run the tests, and for all: change a copy of it."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checkouts.checkout import Checkout
from tests.checkouts.exchanged import exchange

Once = Callable[[str, Callable[[Path], None]], Checkout]


@pytest.fixture(scope="session")
def once(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Once:
    """once(name, make): the checkout that the first worker to ask makes at a path; the others wait for it."""
    root: Path = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):  # a worker of xdist: its folder lies in the one of the run
        root = root.parent

    def made(name: str, make: Callable[[Path], None]) -> Checkout:
        folder = root / name
        folder.mkdir(exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "done").exists():
                make(folder / "one")
                (folder / "done").touch()
        return Checkout.at(folder / "one")

    return made


@pytest.fixture(scope="session")
def finished(once: Once) -> Checkout:
    """The small profile that DVC has run, committed."""

    def make(path: Path) -> None:
        checkout = Checkout(path)
        checkout.repro()
        checkout.commit("results")

    return once("finished", make)


@pytest.fixture(scope="session")
def exchanged(once: Once, finished: Checkout) -> Checkout:
    """The same with a pinned model in place of one of its trained ones, committed."""
    return once("exchanged", lambda path: exchange(finished.copy(path)))


@pytest.fixture(scope="module")
def copies(exchanged: Checkout, tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, Checkout]:
    """Two copies of that, for the two orders of the engines."""
    first, second = (tmp_path_factory.mktemp(name) / "one" for name in ("dvc-first", "snakemake-first"))
    return exchanged.copy(first), exchanged.copy(second)
