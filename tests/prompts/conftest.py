"""A project folder for `rewrite` and `vary`, and a way to run them there; rows of items and of their prompts."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from stages.rewrite import main as rewrite
from stages.vary import main as vary
from tests.prompts.rows import family_of, item_row, run_stage
from vouch.prompts.rewrites.config import RULES
from vouch.tables.asked import ITEMS, PROMPTS, REWRITES, items_path, prompts_path, rewrites_path

TEMPLATES = Path(__file__).resolve().parents[2] / "vouch" / "prompts" / "templates"
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Project:
    """tmp_path as the repository root, with the templates of the project and the dataset `toy`.

    rewrite, variations, outputs: of params.yaml. entry: further keys of the dataset's entry there. notes, measures: of
    the last run.
    """

    def __init__(self, root: Path) -> None:
        self.templates = root / "vouch" / "prompts" / "templates"
        shutil.copytree(TEMPLATES, self.templates)
        self.rewrite: dict[str, Any] = {"rewriter": RULES}
        self.entry: dict[str, Any] = {}
        self.variations = ["original", "lr_i", "ls_n"]
        self.outputs: list[str] | None = None
        self.notes: dict[str, Any] = {}
        self.measures: dict[str, Any] = {}

    def items(self, *rows: Mapping[str, Any]) -> None:
        ITEMS.write(items_path("toy"), rows)

    def decide(self, path: Path, head: str, *lines: str) -> None:
        """Writes a file of decisions."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([head, *lines]) + "\n", "utf-8")

    def run(self, main: Callable[[Any], None], entry: Mapping[str, Any]) -> None:
        params = {"datasets.toy": entry, "rewrite": self.rewrite, "variations": self.variations}
        params["outputs"] = self.outputs
        run = run_stage(main, main.__module__.rpartition(".")[2], "toy", params)
        self.notes, self.measures = run.notes, run.measured

    def rows(self) -> list[dict[str, Any]]:
        """The rewrites of the items."""
        self.run(rewrite, self.entry)
        found: list[dict[str, Any]] = REWRITES.read(rewrites_path("toy")).to_pylist()
        return found

    def prompts(self, template: str = "plain") -> list[dict[str, Any]]:
        """The prompts of the items and rewrites that are there."""
        family, variant = family_of(template)
        self.run(vary, {"template": family, "variant": variant, **self.entry})
        found: list[dict[str, Any]] = PROMPTS.read(prompts_path("toy")).to_pylist()
        return found

    def vary(
        self,
        items: Sequence[Mapping[str, Any]],
        template: str = "kostumov",
        variations: Sequence[str] = ("original",),
        entry: Mapping[str, Any] = NOTHING,
    ) -> list[dict[str, Any]]:
        """The prompts of items without rewrites."""
        self.items(*items)
        REWRITES.write(rewrites_path("toy"), [])
        self.variations, self.entry = list(variations), dict(entry)
        return self.prompts(template)


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
