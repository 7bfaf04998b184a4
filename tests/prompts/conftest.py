"""A project folder for `vary` and a way to run it there."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from stages.vary import main as vary
from tests.prompts.rows import family_of, item_row, run_stage
from vouch.tables.asked import ITEMS, PROMPTS, REWRITES, items_path, prompts_path, rewrites_path

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
        self.notes = run_stage(vary, "vary", "toy", values).notes
        rows: list[dict[str, Any]] = PROMPTS.read(prompts_path("toy")).to_pylist()
        return rows


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


@pytest.fixture
def item() -> Callable[..., dict[str, Any]]:
    """A row of the items table with changes; `id` names it, all are of one group."""

    def make(**changes: Any) -> dict[str, Any]:
        return item_row(changes.get("id", "q1"), **{"group": "g", **changes})

    return make
