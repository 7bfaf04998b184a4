"""Entries of models.lock."""

from typing import Any

import pytest
from pydantic import ValidationError

from vouch.models.pins.config import FolderSource, HubSource, LockEntry, ServerSource
from vouch.pipeline.yaml12 import loads

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_defaults() -> None:
    entry = LockEntry.model_validate({"source": {"kind": "folder", "path": "models/x"}})
    assert entry.source == FolderSource(kind="folder", path="models/x")
    assert (entry.engine, entry.dtype, entry.files, entry.parameters) == ("transformers", "float32", {}, None)


def test_hub_entry() -> None:
    entry = LockEntry.model_validate(
        {"source": {"kind": "hub", "repo": "a/b-1.5", "revision": COMMIT}, "dtype": "bfloat16"}
    )
    assert entry.source == HubSource(kind="hub", repo="a/b-1.5", revision=COMMIT)


def test_server_entry() -> None:
    source = {"kind": "server", "url": "http://127.0.0.1:8000/v1", "name": "some-model"}
    entry = LockEntry.model_validate({"source": source, "engine": "openai"})
    assert entry.source == ServerSource(kind="server", url="http://127.0.0.1:8000/v1", name="some-model")
    assert entry.pinned


@pytest.mark.parametrize(
    ("revision", "files", "pinned"),
    [
        (COMMIT, {"model.safetensors": "0" * 64}, True),
        (COMMIT, {"config.json": "0" * 64}, False),
        (COMMIT, {}, False),
        (None, {"model.safetensors": "0" * 64}, False),
    ],
)
def test_pinned_is_a_commit_and_digests_of_weights(
    revision: str | None, files: dict[str, str], pinned: bool
) -> None:
    source = {"kind": "hub", "repo": "a/b", "revision": revision}
    assert LockEntry.model_validate({"source": source, "files": files}).pinned is pinned


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"source": {"kind": "hub", "repo": "a/b"}}, "revision"),
        ({"source": {"kind": "hub", "repo": "a/b", "revision": "main"}}, "give a commit"),
        ({"source": {"kind": "hub", "repo": "a/b", "revision": COMMIT[:12]}}, "give a commit"),
        ({"source": {"kind": "hub", "repo": "https://a/b", "revision": COMMIT}}, "OWNER/NAME"),
        ({"source": {"kind": "folder", "path": ""}}, "path"),
        ({"source": {"kind": "ftp", "path": "x"}}, "folder"),
        ({"source": {"kind": "folder", "path": "x", "revision": COMMIT}}, "revision"),
        ({"source": {"kind": "folder", "path": "x"}, "files": {"a": "12"}}, "a needs a SHA-256"),
        ({"source": {"kind": "folder", "path": "x"}, "dtype": "int8"}, "dtype"),
        ({"source": {"kind": "folder", "path": "x"}, "facts": {"colour": "red"}}, "colour"),
        ({"source": {"kind": "folder", "path": "x"}, "facts": {"papers": ["smith"]}}, "papers"),
        ({"source": {"kind": "folder", "path": "x"}, "facts": {"resolution": 0}}, "resolution"),
        ({"source": {"kind": "folder", "path": "x"}, "template": "../x"}, "template"),
        ({"source": {"kind": "folder", "path": "x"}, "engine": "openai"}, "go together"),
        ({"source": {"kind": "server", "url": "http://h/v1", "name": "m"}}, "go together"),
        ({"source": {"kind": "server", "url": "h/v1", "name": "m"}, "engine": "openai"}, "https://HOST/v1"),
        (
            {"source": {"kind": "server", "url": "https://k@h/v1", "name": "m"}, "engine": "openai"},
            "leave the key",
        ),
        (
            {
                "source": {"kind": "server", "url": "http://h/v1", "name": "m"},
                "engine": "openai",
                "template": "t",
            },
            "leave them out",
        ),
        (
            {
                "source": {"kind": "server", "url": "http://h/v1", "name": "m"},
                "engine": "openai",
                "files": {"a": "0" * 64},
            },
            "leave them out",
        ),
        ({"source": {"kind": "folder", "path": "x"}, "engine": "../x"}, "engine"),
        ({"source": {"kind": "folder", "path": "x"}, "trust_remote_code": True}, "trust_remote_code"),
    ],
)
def test_bad_entries(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        LockEntry.model_validate(entry)


@pytest.mark.parametrize("commit", ["1" * 40, "1" * 20 + "e" + "1" * 19])
def test_an_unquoted_commit_of_digits_is_told_to_be_quoted(commit: str) -> None:
    entry = loads(f"source: {{kind: hub, repo: a/b, revision: {commit}}}", "models.lock")
    with pytest.raises(ValidationError, match="in quotes"):
        LockEntry.model_validate(entry)
