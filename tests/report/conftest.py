from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from tests.report.project import SCORING, Made, write_tables
from vouch.report.evidence import Evidence
from vouch.report.load import load


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Made], Evidence]:
    """The evidence of a made-up project as the stage reads it; the same project is made and read once."""
    known: dict[str, Evidence] = {}

    def made(what: Made) -> Evidence:
        if repr(what) not in known:
            with chdir(tmp_path_factory.mktemp("project")):
                known[repr(what)] = load(write_tables(what), SCORING)
        return known[repr(what)]

    return made


@pytest.fixture
def make(
    loaded: Callable[[Made], Evidence], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Made], Evidence]:
    """The same, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return loaded
