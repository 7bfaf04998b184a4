"""Entries of models.lock."""

from typing import Any

import pytest
from pydantic import ValidationError

from stages.pin.config import FolderSource, HubSource, LockEntry
from stages.yaml12 import loads

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
        ({"source": {"kind": "folder", "path": "x"}, "facts": {"a": float("nan")}}, "finite numbers"),
        ({"source": {"kind": "folder", "path": "x"}, "facts": {"a": b"x"}}, "texts, finite numbers"),
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
