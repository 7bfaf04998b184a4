"""Decisions about rewrites, and a server as rewriter whose answers the test writes."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.models.loopback_server import Loopback, Reply, serving
from tests.prompts.conftest import Project as Project
from tests.prompts.rows import item_row
from vouch.prompts.rewrites.table import decisions_path
from vouch.tables.answered import Pin, Source, write_pin

KEY = "sk-secret-123456"


def item(name: str, question: str, **changes: Any) -> dict[str, Any]:
    """A row of the items table."""
    return item_row(name, question, **{"options": ["red", "green", "blue"], **changes})


def completion(text: object, reason: str = "stop") -> Reply:
    """What a server answers."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
    usage = {"prompt_tokens": 100, "completion_tokens": 8}
    return Reply(200, json.dumps({"model": "writer", "choices": [choice], "usage": usage}))


def decide(project: Project, *lines: str, head: str = "question,kind,decision,text") -> None:
    project.decide(decisions_path("toy"), head, *lines)


def ask(project: Project, url: str) -> None:
    """Lets the server there rewrite."""
    source = Source(kind="server", url=url, name="llama")
    write_pin(Path("data/models/writer.json"), Pin(model="writer", engine="openai", source=source, files={}))
    project.rewrite = {"rewriter": "data/models/writer.json"}


def words(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], str | None]:
    """(question, kind) -> the other words, where they may be asked."""
    return {(row["original"], row["kind"]): row["rewrite"] for row in rows if row["status"] != "rejected"}


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
    ask(project, server.url)
    return project
