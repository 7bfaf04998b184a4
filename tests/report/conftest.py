from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from tests.report.project import REGISTRY, SCORING, Made, write_tables
from vouch.report.config import ReportConfig
from vouch.report.evidence import Evidence
from vouch.report.loading import load
from vouch.report.site import write


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


def _rewrite(status: str, failed: list[str]) -> dict[str, Any]:
    row = {"original": "Is it red?", "kind": "ls_n", "rewrite": f"Is it {status}?", "status": status}
    return row | {"failed": failed, "reason": "it says the same", "rewriter": "rules/1"}


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a report that has nearly every section, written once."""
    made = Made(
        datasets=("ai2d", "shapes"),  # one of a paper, and one of nobody
        categories=("big", "small"),
        variations=("original", "blank", "rotated", "vr_b", "vr_b_5"),
        rejects=[("file:3", "no image")],
        rewrites=[_rewrite("accepted", []), _rewrite("rejected", ["negated"])],
    )
    path = tmp_path_factory.mktemp("rich")
    with chdir(path):
        write(ReportConfig(title="Vouch"), load(write_tables(made), SCORING), registry=REGISTRY)
    return path
