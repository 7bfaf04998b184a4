"""A small hub on the loopback address, for the real client of huggingface_hub."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

import pytest

LARGE = (
    ".safetensors",
    ".bin",
    ".parquet",
    ".zip",
)  # kept in LFS, so that the hub itself knows their SHA-256


@dataclass
class Repo:
    """A repository, of models or of data: commit -> name -> bytes, branch -> commit.

    refuses: error code of every file. status: what the hub answers to any question about it, or `files`
    to questions for files. cut: name -> bytes after which the connection is lost, once for each number.
    """

    commits: dict[str, dict[str, bytes]]
    branches: dict[str, str] = field(default_factory=dict)
    card: dict[str, Any] = field(default_factory=dict)
    refuses: str | None = None
    altered: dict[str, bytes] = field(default_factory=dict)  # what is sent instead of a file
    status: int | None = None
    files: int | None = None
    cut: dict[str, list[int]] = field(default_factory=dict)


class Handler(BaseHTTPRequestHandler):
    """Serves `repos`; an unknown one refuses as the hub does. owner/busy answers with a status of its own."""

    repos: ClassVar[dict[str, Repo]] = {}
    requests: ClassVar[list[str]] = []
    served: ClassVar[dict[str, int]] = {}  # bytes sent of each file

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.requests.append(path)
        api = re.fullmatch(r"/api/(?:models|datasets)/([^/]+/[^/]+)/(revision|tree)/([^/]+)", path)
        file = re.fullmatch(r"(?:/datasets)?/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        match = api or file
        name = match[1] if match else ""
        if name == "owner/busy":
            return self._answer(418, b"")
        repo = self.repos.get(name)
        if match is None or repo is None:
            return self._answer(401, b"", {"X-Error-Code": "RepoNotFound"})
        if refused := repo.status or (repo.files if file else None):
            return self._answer(refused, b"")
        wanted = match[3] if api else match[2]
        commit = repo.branches.get(wanted, wanted)
        if commit not in repo.commits:
            return self._answer(404, b"", {"X-Error-Code": "RevisionNotFound"})
        if api:
            listing = (
                self._info(name, repo, commit) if match[2] == "revision" else _tree(repo.commits[commit])
            )
            return self._answer(200, json.dumps(listing).encode(), {"Content-Type": "application/json"})
        if repo.refuses:
            return self._answer(403, b"", {"X-Error-Code": repo.refuses})
        name = unquote(match[3])
        self._file(name, repo.commits[commit].get(name), repo, commit)

    def _info(self, name: str, repo: Repo, commit: str) -> dict[str, Any]:
        siblings = [
            {"rfilename": file, "size": len(data), "blobId": _blob(data), **_lfs(file, data)}
            for file, data in repo.commits[commit].items()
        ]
        return {"id": name, "modelId": name, "sha": commit, "siblings": siblings, "cardData": repo.card}

    def _file(self, name: str, data: bytes | None, repo: Repo, commit: str) -> None:
        if data is None:
            return self._answer(404, b"", {"X-Error-Code": "EntryNotFound"})
        announced = sha256(data).hexdigest() if _lfs(name, data) else _blob(data)
        headers = {"ETag": f'"{announced}"', "X-Repo-Commit": commit}
        data = repo.altered.get(name, data)
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        end = int(part[2]) + 1 if part and part[2] else len(data)
        body = data[int(part[1]) : end] if part else data
        sent = len(body)
        if self.command == "GET":
            self.served[name] = self.served.get(name, 0) + len(body)
            sent = repo.cut[name].pop(0) if repo.cut.get(name) else sent
        self._answer(206 if part else 200, body, headers, sent)

    def _answer(
        self, status: int, body: bytes, headers: Mapping[str, str] | None = None, sent: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[:sent])
            self.close_connection = True


def _blob(data: bytes) -> str:
    """The digest that git gives to a file."""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _lfs(name: str, data: bytes) -> dict[str, Any]:
    if not name.endswith(LARGE):
        return {}
    return {"lfs": {"sha256": sha256(data).hexdigest(), "size": len(data), "pointerSize": 135}}


def _tree(files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    return [
        {"type": "file", "path": name, "size": len(data), "oid": f"{len(data):040x}"}
        for name, data in files.items()
    ]


@contextmanager
def serving(
    repos: dict[str, Repo], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ThreadingHTTPServer]:
    """A hub with some repositories, which the client asks; its cache is `cache`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    Handler.repos = repos
    Handler.requests.clear()
    Handler.served.clear()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    files = "{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", f"{address}/{files}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
