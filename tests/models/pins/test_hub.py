"""Fetching from a hub: a small one on the loopback address, with the real client of huggingface_hub."""

from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.models.pins.loopback_hub import Handler, Repo, serving
from tests.refusals import refused
from vouch.models.pins import fetch
from vouch.tables.answered import folder_digests

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
    "qformer_tokenizer/tokenizer.json": b"{}",
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """A hub that the client asks, with an empty cache."""
    repos = {"owner/open": Repo({COMMIT: FILES}, {"main": COMMIT})}
    with serving(repos, tmp_path / "cache", monkeypatch) as server:
        yield server


def test_only_what_a_model_is_loaded_from_is_fetched(hub: ThreadingHTTPServer) -> None:
    folder = fetch("owner/open", COMMIT)
    names = [
        "chat_template.jinja",
        "config.json",
        "model.safetensors",
        "qformer_tokenizer/tokenizer.json",
        "vocab.txt",
    ]
    assert sorted(folder_digests(folder)) == names
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*")) == names
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_a_revision_that_is_not_resolved_is_what_main_is_now(hub: ThreadingHTTPServer) -> None:
    assert fetch("owner/open", None).name == COMMIT


def test_cache_serves_without_the_hub(hub: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fetch("owner/open", COMMIT)
    Handler.requests.clear()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert fetch("owner/open", COMMIT) == folder and Handler.requests == []
    (folder / "model.safetensors").unlink()
    with refused("not whole in the local cache; run `pin` without HF_HUB_OFFLINE"):
        fetch("owner/open", COMMIT)


def test_a_home_that_cannot_be_written_is_one_line(hub: ThreadingHTTPServer, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with refused(r"/cache.*; make room, or name another folder as HF_HOME"):
        fetch("owner/open", COMMIT)


def test_a_refusal_is_one_line(hub: ThreadingHTTPServer) -> None:
    """Of vouch/pipeline/hub.py, whose other lines tests/cli/test_lock.py and tests/datasets/test_fetch.py read."""
    with refused(r"no such commit or branch; correct source in models\.lock"):
        fetch("owner/open", "f" * 40)
