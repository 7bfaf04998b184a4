"""A project folder for `vary` and a way to run it there."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from stages.vary import main
from tests.prompts.rows import family_of
from vouch.pipeline.dag import Dag, Stage
from vouch.pipeline.stage import Run
from vouch.tables.items import ITEMS, items_path
from vouch.tables.prompts import PROMPTS, prompts_path
from vouch.tables.rewrites import REWRITES, rewrites_path

TEMPLATES = Path(__file__).resolve().parents[2] / "vouch" / "prompts" / "templates"


class Project:
    """tmp_path as the repository root, with the templates of the project."""

    def __init__(self, root: Path) -> None:
        self.templates = root / "vouch" / "prompts" / "templates"
        self.notes: dict[str, Any] = {}
        shutil.copytree(TEMPLATES, self.templates)

    def vary(
        self,
        items: list[dict[str, Any]],
        template: str = "kostumov",
        variations: Sequence[str] = ("original",),
        rewrites: Sequence[dict[str, Any]] = (),
        entry: Mapping[str, Any] = MappingProxyType({}),
    ) -> list[dict[str, Any]]:
        """Writes the items and their rewrites, runs the stage and reads the prompts back.

        entry: further keys of the dataset's entry.
        """
        ITEMS.write(items_path("toy"), items)
        REWRITES.write(rewrites_path("toy"), rewrites)
        family, variant = family_of(template)
        values = {
            "datasets.toy": {"template": family, "variant": variant, **entry},
            "variations": list(variations),
        }
        stage = Stage("vary@toy", "python -m stages.vary toy", (), (), {"params.yaml": values})
        run = Run(Dag([stage]), stage, ["toy"])
        main(run)
        self.notes = run.notes
        rows: list[dict[str, Any]] = PROMPTS.read(prompts_path("toy")).to_pylist()
        return rows


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


@pytest.fixture
def item() -> Callable[..., dict[str, Any]]:
    """A row of the items table with changes."""

    def make(**changes: Any) -> dict[str, Any]:
        return {
            "id": "q1",
            "group": "g",
            "question": "What is shown?",
            "hint": None,
            "options": ["a kite", "a hat"],
            "answers": [1],
            "references": [],
            "images": ["d1"],
            "category": "",
            "kind": "choice",
            "source_id": "q1",
            "flags": [],
            **changes,
        }

    return make
