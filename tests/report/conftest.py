from collections.abc import Callable
from pathlib import Path

import pytest

from stages.report import read
from tests.report.project import SCORING, Made, write_tables
from vouch.report.evidence import Evidence
from vouch.report.sources import sources


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Made], Evidence]:
    """Writes tables in a folder of its own, goes there and reads them as the stage does."""
    monkeypatch.chdir(tmp_path)

    def made(what: Made) -> Evidence:
        return read(sources(write_tables(what)), SCORING)

    return made
