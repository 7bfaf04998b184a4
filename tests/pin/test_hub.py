"""Fetching from a hub: a small one on the loopback address, with the real client of huggingface_hub."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from stages.pin.hub import fetch
from stages.runtime.errors import UserError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "config.json": b'{"model_type": "llava"}',
    "model.safetensors": b"weights",
    "chat_template.jinja": b"{{ messages }}",
    "pytorch_model.bin": b"a pickle",
    "modeling.py": b"import os",
    "original/consolidated.safetensors": b"other weights",
}


class Hub(BaseHTTPRequestHandler):
    """Serves owner/open; other repositories refuse in their own way."""

    requests: ClassVar[list[str]] = []

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.requests.append(path)
        if path.startswith(f"/api/models/owner/open/tree/{COMMIT}"):
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": f"{len(data):040x}"}
                for name, data in FILES.items()
            ]
            self._answer(200, json.dumps(tree).encode(), {"Content-Type": "application/json"})
        elif path.startswith(f"/owner/open/resolve/{COMMIT}/"):
            data = FILES[path.split(COMMIT + "/")[1]]
            self._answer(200, data, {"ETag": f'"{len(data):040x}"', "X-Repo-Commit": COMMIT})
        elif "/owner/open/" in path:
            self._answer(404, b"", {"X-Error-Code": "RevisionNotFound"})
        elif "/owner/gated/" in path:
            self._answer(403, b"", {"X-Error-Code": "GatedRepo"})
        elif "/owner/busy/" in path:
            self._answer(418, b"", {})
        else:
            self._answer(401, b"", {"X-Error-Code": "RepoNotFound"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """A hub that the client asks, with an empty cache."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    Hub.requests.clear()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    files = "{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", f"{address}/{files}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_only_what_a_model_is_loaded_from_is_fetched(hub: ThreadingHTTPServer) -> None:
    folder = fetch("owner/open", COMMIT)
    names = ["chat_template.jinja", "config.json", "model.safetensors"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_cache_serves_without_the_hub(hub: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fetch("owner/open", COMMIT)
    Hub.requests.clear()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert fetch("owner/open", COMMIT) == folder and Hub.requests == []
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match="not whole in the local cache; run `pin` without HF_HUB_OFFLINE"):
        fetch("owner/open", COMMIT)


@pytest.mark.parametrize(
    ("repo", "commit", "message"),
    [
        ("owner/gated", COMMIT, "gated; accept its terms on the hub"),
        ("owner/absent", COMMIT, "no such repository, or a private one"),
        ("owner/open", "f" * 40, r"has no such commit; correct source\.revision"),
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
