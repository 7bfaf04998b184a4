"""A project folder for `rewrite` and a way to run it, and `vary` after it, there."""

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from stages.rewrite import main as rewrite
from stages.vary import main as vary
from tests.models.loopback_server import Loopback, Reply, serving
from tests.prompts.rows import family_of, item_row, run_stage
from vouch.prompts.rewrites.config import RULES
from vouch.prompts.rewrites.table import decisions_path
from vouch.tables.answered import Pin, Source, write_pin
from vouch.tables.asked import ITEMS, PROMPTS, REWRITES, items_path, prompts_path, rewrites_path

KEY = "sk-secret-123456"
TEMPLATES = Path(__file__).resolve().parents[3] / "vouch" / "prompts" / "templates"


def item(name: str, question: str, **changes: Any) -> dict[str, Any]:
    """A row of the items table."""
    return item_row(name, question, **{"options": ["red", "green", "blue"], **changes})


def completion(text: object, reason: str = "stop") -> Reply:
    """What a server answers."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
    usage = {"prompt_tokens": 100, "completion_tokens": 8}
    return Reply(200, json.dumps({"model": "writer", "choices": [choice], "usage": usage}))


class Project:
    """tmp_path as the repository root. rewrite: `rewrite:` of params.yaml. entry: further keys
    of the dataset's. notes, measures: of the last run."""

    def __init__(self, root: Path) -> None:
        shutil.copytree(TEMPLATES, root / "vouch" / "prompts" / "templates")
        self.rewrite: dict[str, Any] = {"rewriter": RULES}
        self.entry: dict[str, Any] = {}
        self.variations: list[str] = ["original", "lr_i", "ls_n"]
        self.notes: dict[str, Any] = {}
        self.measures: dict[str, Any] = {}

    def items(self, *rows: dict[str, Any]) -> None:
        ITEMS.write(items_path("toy"), rows)

    def decide(self, *lines: str, head: str = "question,kind,decision,text") -> None:
        decisions_path("toy").parent.mkdir(parents=True, exist_ok=True)
        decisions_path("toy").write_text("\n".join([head, *lines]) + "\n", "utf-8")

    def ask(self, url: str) -> None:
        """Lets the server there rewrite."""
        source = Source(kind="server", url=url, name="llama")
        pin = Pin(model="writer", engine="openai", source=source, files={})
        write_pin(Path("data/models/writer.json"), pin)
        self.rewrite = {"rewriter": "data/models/writer.json"}

    def rows(self) -> list[dict[str, Any]]:
        """Runs `rewrite`."""
        params = {"datasets.toy": self.entry, "rewrite": self.rewrite, "variations": self.variations}
        run = run_stage(rewrite, "rewrite", "toy", params)
        self.notes, self.measures = run.notes, run.measured
        found: list[dict[str, Any]] = REWRITES.read(rewrites_path("toy")).to_pylist()
        return found

    def prompts(self, template: str = "plain") -> list[dict[str, Any]]:
        """Runs `vary` on what is there."""
        family, variant = family_of(template)
        entry = {"template": family, "variant": variant}
        run_stage(vary, "vary", "toy", {"datasets.toy": entry, "variations": self.variations})
        found: list[dict[str, Any]] = PROMPTS.read(prompts_path("toy")).to_pylist()
        return found


def words(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], str | None]:
    """(question, kind) -> the other words, where they may be asked."""
    return {(row["original"], row["kind"]): row["rewrite"] for row in rows if row["status"] != "rejected"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


@pytest.fixture
def server() -> Iterator[Loopback]:
    """No model is behind it: each test says what it answers, as `server.instead`."""
    with serving(None) as loopback:  # type: ignore[arg-type]
        yield loopback


@pytest.fixture
def asking(project: Project, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose rewriter is the server."""
    monkeypatch.setenv("VOUCH_SERVER_KEY_WRITER", KEY)
    monkeypatch.setenv("VOUCH_SERVER_TRIES", "1")
    project.ask(server.url)
    return project
