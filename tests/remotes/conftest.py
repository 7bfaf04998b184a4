"""One small repository, recorded once, and a server of each kind."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remotes.project import Repository
from tests.remotes.servers import Remote, missing, serve


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository whose results DVC has recorded; change a copy of it."""
    return Repository.make(tmp_path_factory.mktemp("recorded") / "one")


@pytest.fixture(params=["local", "ssh", "s3"])
def remote(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Remote]:
    """A remote without an object."""
    kind = request.param
    if problem := missing(kind):
        if os.environ.get("CI") == "true":
            pytest.fail(problem)
        pytest.skip(problem)
    with serve(kind, tmp_path / kind) as server:
        yield server


@pytest.fixture
def repository(recorded: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A copy, the working folder; DVC keeps what it remembers below it."""
    copy = recorded.copy(tmp_path / "one")
    monkeypatch.chdir(copy.path)
    return copy
