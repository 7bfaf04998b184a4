"""Fetching from a hub: a small one on the loopback address, with the real client of huggingface_hub."""

from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.models.pins.loopback_hub import Handler, Repo, serving
from vouch.models.pins.pinning import fetch
from vouch.pipeline.errors import UserError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "config.json": b'{"model_type": "llava"}',
    "model.safetensors": b"weights",
    "chat_template.jinja": b"{{ messages }}",
    "pytorch_model.bin": b"a pickle",
    "modeling.py": b"import os",
    "vocab.txt": b"the",
    "LICENSE.txt": b"notes",
    "original/consolidated.safetensors": b"other weights",
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """A hub that the client asks, with an empty cache."""
    repos = {
        "owner/open": Repo({COMMIT: FILES}, {"main": COMMIT}),
        "owner/gated": Repo({COMMIT: FILES}, refuses="GatedRepo"),
    }
    with serving(repos, tmp_path / "cache", monkeypatch) as server:
        yield server


def test_only_what_a_model_is_loaded_from_is_fetched(hub: ThreadingHTTPServer) -> None:
    folder = fetch("owner/open", COMMIT)
    names = ["chat_template.jinja", "config.json", "model.safetensors", "vocab.txt"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_a_revision_that_is_not_resolved_is_what_main_is_now(hub: ThreadingHTTPServer) -> None:
    assert fetch("owner/open", None).name == COMMIT


def test_cache_serves_without_the_hub(hub: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fetch("owner/open", COMMIT)
    Handler.requests.clear()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert fetch("owner/open", COMMIT) == folder and Handler.requests == []
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match="not whole in the local cache; run `pin` without HF_HUB_OFFLINE"):
        fetch("owner/open", COMMIT)


@pytest.mark.parametrize(
    ("repo", "commit", "message"),
    [
        ("owner/gated", COMMIT, "gated; accept its terms on the hub"),
        ("owner/absent", COMMIT, "no such repository, or a private one"),
        ("owner/open", "f" * 40, r"no such commit or branch; correct source in models\.lock"),
        ("owner/busy", COMMIT, "owner/busy at 0123456789ab: "),
    ],
)
def test_refusals_are_one_line(hub: ThreadingHTTPServer, repo: str, commit: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        fetch(repo, commit)
    assert "\n" not in str(caught.value)


def test_no_network(hub: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the client's pauses between its attempts
    hub.shutdown()
    hub.server_close()
    with pytest.raises(UserError, match=r"no answer from the hub \(ConnectError\)"):
        fetch("owner/open", COMMIT)
