"""A project around the tiny model, and a server that runs it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.loopback_server import Loopback, StandIn, serving
from tests.models.project import ENGINES, MODEL, QUICK, Project
from vouch.tables.answered import Pin, Source, pin_path, write_pin


@pytest.fixture
def project(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in its own folder, which is the working folder; the model is pinned."""
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, tiny)
    made.pin()
    return made


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The same, with an engine that needs no model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(ENGINES, "transformers", QUICK)
    source = Source(kind="folder", path="m")
    write_pin(pin_path(MODEL), Pin(model=MODEL, engine="transformers", source=source, files={}))
    return Project(tmp_path, tmp_path / "m")


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serving(StandIn()) as running:
        yield running
