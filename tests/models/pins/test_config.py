"""Entries of models.lock."""

from typing import Any

import pytest
from pydantic import ValidationError

from vouch.models.lock_entry import FolderSource, HubSource, LockEntry, ServerSource
from vouch.pipeline.yaml12 import loads

COMMIT = "0123456789abcdef0123456789abcdef01234567"


FOLDER = {"kind": "folder", "path": "models/x"}
HUB = {"kind": "hub", "repo": "a/b-1.5", "revision": COMMIT}
SERVER = {"kind": "server", "url": "http://127.0.0.1:8000/v1", "name": "some-model"}


@pytest.mark.parametrize(
    ("source", "engine", "expected"),
    [
        (FOLDER, "transformers", FolderSource(kind="folder", path="models/x")),
        (HUB, "transformers", HubSource(kind="hub", repo="a/b-1.5", revision=COMMIT)),
        (SERVER, "openai", ServerSource(kind="server", url="http://127.0.0.1:8000/v1", name="some-model")),
    ],
)
def test_an_entry_and_its_defaults(source: dict[str, Any], engine: str, expected: Any) -> None:
    named = {} if engine == "transformers" else {"engine": engine}
    entry = LockEntry.model_validate({"source": source, **named})
    assert entry.source == expected
    assert (entry.engine, entry.dtype, entry.files, entry.parameters) == (engine, None, {}, None)
    assert entry.pinned == (engine == "openai" or getattr(expected, "revision", None) is not None)


@pytest.mark.parametrize(
    ("source", "files", "pinned"),
    [
        ({**HUB, "revision": COMMIT}, {}, True),
        ({**HUB, "revision": None}, {"model.safetensors": "0" * 64}, False),
        ({"kind": "folder", "path": "m"}, {"model.safetensors": "0" * 64}, True),
        ({"kind": "folder", "path": "m"}, {"config.json": "0" * 64}, False),
    ],
)
def test_pinned_is_a_commit_or_digests_of_a_folder(
    source: dict[str, object], files: dict[str, str], pinned: bool
) -> None:
    assert LockEntry.model_validate({"source": source, "files": files}).pinned is pinned


OPENAI = {"engine": "openai"}


@pytest.mark.parametrize(
    ("source", "entry", "message"),
    [
        ({"kind": "hub", "repo": "a/b"}, {}, "revision"),
        ({**HUB, "revision": "main"}, {}, "give a commit"),
        ({**HUB, "revision": COMMIT[:12]}, {}, "give a commit"),
        ({**HUB, "repo": "https://a/b"}, {}, "OWNER/NAME"),
        ({**FOLDER, "path": ""}, {}, "path"),
        ({**FOLDER, "kind": "ftp"}, {}, "folder"),
        ({**FOLDER, "revision": COMMIT}, {}, "revision"),
        (FOLDER, {"files": {"a": "12"}}, "a needs a SHA-256"),
        (FOLDER, {"dtype": "int8"}, "dtype"),
        (FOLDER, {"facts": {"colour": "red"}}, "colour"),
        (FOLDER, {"facts": {"papers": ["smith"]}}, "papers"),
        (FOLDER, {"facts": {"resolution": 0}}, "resolution"),
        (FOLDER, {"template": "../x"}, "template"),
        (FOLDER, {"engine": "../x"}, "engine"),
        (FOLDER, {"trust_remote_code": True}, "trust_remote_code"),
        (FOLDER, OPENAI, "go together"),
        (SERVER, {}, "go together"),
        ({**SERVER, "url": "h/v1"}, OPENAI, "https://HOST/v1"),
        ({**SERVER, "url": "https://k@h/v1"}, OPENAI, "leave the key"),
        *(
            ({**SERVER, "url": url}, OPENAI, "https://HOST/v1")
            for url in (
                "http://h:x/v1",
                "http://h:70000/v1",
                "http://h:0/v1",
                "http://a b/v1",
                "http://h/v1\n",
            )
        ),
        *(
            ({**SERVER, "url": url}, OPENAI, "https://HOST/v1")
            for url in ("http://[1/v1", "http://\u00fc/v1", "http://a..b/v1", f"http://{'h' * 64}/v1")
        ),
        (SERVER, {**OPENAI, "template": "t"}, "leave them out"),
        (SERVER, {**OPENAI, "files": {"a": "0" * 64}}, "leave them out"),
        (SERVER, {**OPENAI, "processor": {"do_pad": True}}, "leave them out"),
    ],
)
def test_bad_entries(source: dict[str, Any], entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        LockEntry.model_validate({"source": source, **entry})


@pytest.mark.parametrize("commit", ["1" * 40, "1" * 20 + "e" + "1" * 19])
def test_an_unquoted_commit_of_digits_is_told_to_be_quoted(commit: str) -> None:
    entry = loads(f"source: {{kind: hub, repo: a/b, revision: {commit}}}", "models.lock")
    with pytest.raises(ValidationError, match="in quotes"):
        LockEntry.model_validate(entry)
