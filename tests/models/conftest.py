"""A project around the tiny model."""

from pathlib import Path

import pytest

from tests.models.project import Project


@pytest.fixture
def project(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in its own folder, which is the working folder; the model is pinned."""
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, tiny)
    made.pin()
    return made
