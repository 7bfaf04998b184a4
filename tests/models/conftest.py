"""A project around the tiny model, and a server that runs it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.loopback_server import Loopback, TinyModel, serving
from tests.models.project import Project


@pytest.fixture
def project(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in its own folder, which is the working folder; the model is pinned."""
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, tiny)
    made.pin()
    return made


@pytest.fixture(scope="session")
def served(tiny: Path) -> TinyModel:
    return TinyModel(tiny)


@pytest.fixture
def server(served: TinyModel) -> Iterator[Loopback]:
    with serving(served) as running:
        yield running
