"""A tiny model per test session, and a project around it."""

from pathlib import Path

import pytest

from tests.extract.project import MODEL, Project
from tests.extract.tiny import save_llava


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny LLaVA; tests must not change it."""
    return save_llava(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def project(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in its own folder, which is the working folder; the model is pinned."""
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, tiny)
    made.params["unpinned"] = [MODEL]
    made.pin()
    return made
