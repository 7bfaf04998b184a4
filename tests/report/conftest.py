from collections.abc import Callable
from pathlib import Path

import pytest

from stages.report.__main__ import read
from stages.report.evidence import Evidence
from stages.report.reading import sources
from tests.report.project import SCORING, Made, write_tables


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Made], Evidence]:
    """Writes tables in a folder of its own, goes there and reads them as the stage does."""
    monkeypatch.chdir(tmp_path)

    def made(what: Made) -> Evidence:
        return read(sources(write_tables(what)), SCORING)

    return made
