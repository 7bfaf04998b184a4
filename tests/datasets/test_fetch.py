"""Fetching from addresses and from the hub, with real servers on the loopback address that fail in many ways."""

import io
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.request import Request

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.models.pins.loopback_hub import Handler, Repo, serving
from vouch.datasets.fetch.download import _Elsewhere, fetch, is_here, locate
from vouch.datasets.fetch.hub import same_repositories
from vouch.datasets.fetch.origin import REMOTE, Origin
from vouch.datasets.read.forms import count_rows, rows
from vouch.pipeline.errors import UserError


class Files(BaseHTTPRequestHandler):
    """files: path -> bytes. cut: path -> bytes after which the connection is lost, once for each number.

    raw: path -> whole answers, head and all.
    """

    files: ClassVar[dict[str, bytes]] = {}
    cut: ClassVar[dict[str, list[int]]] = {}
    raw: ClassVar[dict[str, bytes]] = {}
    ranges: ClassVar[bool] = True
    asked: ClassVar[list[tuple[str, str | None]]] = []

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.asked.append((self.path, wanted))
        if self.path in self.raw:
            self.wfile.write(self.raw[self.path])
            self.close_connection = True
            return
        data = self.files.get(self.path)
        if data is None:
            self.send_error(404)
            return
        start = int(re.sub(r"\D", "", wanted)) if wanted and self.ranges else 0
        if start >= len(data) > 0:
            self.send_error(416)
            return
        body = data[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cuts = self.cut.get(self.path)
        self.wfile.write(body[: cuts.pop(0)] if cuts else body)


@contextmanager
def serving_files(files: dict[str, bytes]) -> Iterator[str]:
    """The address of a server that has these files."""
    Files.files, Files.cut, Files.raw, Files.ranges = files, {}, {}, True
    Files.asked.clear()
    with listening(Files) as address:
        yield address


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server on the loopback address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
    thread.join()


DATA = bytes(range(256)) * 400
DIGEST = sha256(DATA).hexdigest()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving_files({"/a/items.tsv": DATA, "/b.zip": b"zip"}) as address:
        yield address


def origin(server: str, sha: str | None = DIGEST) -> Origin:
    return Origin(url=f"{server}/a/items.tsv", sha256=sha)


def left() -> list[str]:
    return sorted(str(p) for p in Path(".vouch").rglob("*") if p.is_file() and ".lock" not in p.name)


def test_a_file_comes_once_and_lies_under_its_digest(server):
    source = locate("toy", REMOTE, origin(server))
    assert [(file.name, file.path) for file in source.files] == [
        ("items.tsv", Path(".vouch/sources/files") / DIGEST / "items.tsv")
    ]
    assert source.files[0].path.read_bytes() == DATA
    locate("toy", REMOTE, origin(server))
    fetch("toy", origin(server))
    assert len(Files.asked) == 1


def test_a_lost_connection_is_resumed(server):
    Files.cut["/a/items.tsv"] = [1000, 50_000]
    fetch("toy", origin(server))
    assert [asked for _, asked in Files.asked] == [None, "bytes=1000-", "bytes=51000-"]
    assert is_here(REMOTE, origin(server))


def killed(server: str, sent: int = 4000) -> None:
    """A fetch that ends after so many bytes."""
    Files.cut["/a/items.tsv"] = [sent, 0]
    with pytest.raises(UserError, match=r"not on this machine .*run `vouch fetch toy` on a machine with the"):
        fetch("toy", origin(server))
    Files.asked.clear()


def test_a_killed_fetch_goes_on_in_the_next_process(server):
    killed(server)
    assert left() == [f".vouch/sources/files/.{DIGEST}.partial"] and not is_here(REMOTE, origin(server))
    fetch("toy", origin(server))
    assert Files.asked == [("/a/items.tsv", "bytes=4000-")]


def test_a_server_without_ranges_starts_over(server):
    Files.ranges, Files.cut["/a/items.tsv"] = False, [1000]
    fetch("toy", origin(server))
    assert len(Files.asked) == 2


def test_a_partial_file_that_is_whole_or_too_long(server):
    partial = Path(f".vouch/sources/files/.{DIGEST}.partial")
    partial.parent.mkdir(parents=True)
    partial.write_bytes(DATA + b"more")
    fetch("toy", origin(server))
    assert [asked for _, asked in Files.asked] == [f"bytes={len(DATA) + 4}-", None]


def test_another_file_is_refused_and_removed(server):
    Files.files["/a/items.tsv"] = b"changed"
    found = sha256(b"changed").hexdigest()
    with pytest.raises(UserError, match=f"its SHA-256 is {found}, not {DIGEST}"):
        fetch("toy", origin(server))
    assert left() == []


def test_without_a_digest_the_newest_is_taken_and_named(server):
    one = fetch("toy", origin(server, None))
    assert one.files[0].digest == DIGEST
    Files.files["/a/items.tsv"] = b"newer"
    assert locate("toy", REMOTE, origin(server, None)).files[0].path.read_bytes() == DATA
    assert fetch("toy", origin(server, None)).files[0].digest == sha256(b"newer").hexdigest()


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"x" + DATA[1:])])
def test_a_file_that_went_or_was_damaged_is_fetched_again(server, damage):
    path = locate("toy", REMOTE, origin(server)).files[0].path
    damage(path)
    assert is_here(REMOTE, origin(server)) == path.exists()
    assert locate("toy", REMOTE, origin(server)).files[0].path.read_bytes() == DATA
    assert len(Files.asked) == 2


def test_several_parts_keep_their_order(server):
    parts = [{"url": f"{server}/b.zip", "name": "z.zip"}, {"url": f"{server}/a/items.tsv", "sha256": DIGEST}]
    source = locate("toy", REMOTE, Origin.model_validate({"parts": parts}))
    assert [file.name for file in source.files] == ["z.zip", "items.tsv"]


def test_refusals_are_one_line(server):
    with pytest.raises(UserError, match=r"Connection refused\); run `vouch fetch toy` on a machine with the"):
        fetch("toy", Origin(url="http://127.0.0.1:9/items.tsv", sha256=DIGEST))
    with pytest.raises(UserError, match="nothing to fetch: get it from X"):
        locate("toy", REMOTE, None, "get it from X")


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500])
def test_statuses_are_one_line_and_the_next_run_goes_on(server, status):
    killed(server)
    Files.raw["/a/items.tsv"] = f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n".encode()
    with pytest.raises(UserError, match=rf"items\.tsv: the server answered {status}; correct origin, or try"):
        fetch("toy", origin(server))
    assert not is_here(REMOTE, origin(server))
    Files.raw.clear()
    Files.asked.clear()
    fetch("toy", origin(server))
    assert Files.asked == [("/a/items.tsv", "bytes=4000-")]


@pytest.mark.parametrize("sha", [DIGEST, None])
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"200 OK\r\nContent-Length: \xb2\r\n\r\n", "sent nothing instead of the file"),
        (b"204 No\r\n\r\n", "sent nothing instead of the file"),
        (b"200 OK\r\n\r\n\n<!DOCTYPE html><p>log in", "sent a web page instead of the file"),
        (b"302 F\r\nLocation: ftp://127.0.0.1:9/x\r\n\r\n", "redirects to ftp://.*correct origin"),
        (b"302 F\r\nLocation: file:///etc/passwd\r\n\r\n", "the server answered 302"),
        (b"302 F\r\nLocation: http://[::1/x\r\n\r\n", "answer cannot be read .*correct origin"),
        (b"302 F\r\nLocation: http://" + b"a" * 300 + b"/\r\n\r\n", "cannot be read"),
        (b"200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc", "cannot be read"),
        (b"200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nabc", "is not on this machine"),
        (b"200 OK\r\nContent-Length: 999\r\n\r\nabc", "is not on this machine"),
    ],
)
def test_servers_that_send_nonsense(server, answer, words, sha):
    Files.raw["/odd.tsv"] = b"HTTP/1.1 " + answer
    with pytest.raises(UserError, match=words):
        fetch("toy", Origin(url=f"{server}/odd.tsv", sha256=sha))
    assert all(path.endswith(".partial") for path in left())


def test_a_server_may_not_lead_out_of_encryption():
    request = Request("https://host/items.tsv")
    assert _Elsewhere().redirect_request(request, io.BytesIO(), 302, "", HTTPMessage(), "https://other/x")
    with pytest.raises(UserError, match=r"redirects to http://other/x, from which nothing is fetched"):
        _Elsewhere().redirect_request(request, io.BytesIO(), 302, "", HTTPMessage(), "http://other/x")


def test_a_damaged_partial_file_is_not_blamed_on_the_server(server):
    killed(server)
    Path(left()[0]).write_bytes(bytes(4000))
    fetch("toy", origin(server))
    assert left()[0].endswith("items.tsv") and is_here(REMOTE, origin(server))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "give one of hub, url and parts"),
        ({"hub": "a/b", "url": "https://a/b"}, "give one of hub, url and parts"),
        ({"hub": "a/b"}, "needs split"),
        ({"hub": "a/b", "split": "test", "files": ["x"]}, "not both"),
        ({"hub": "a/b", "split": "test", "revision": "main"}, "give a commit"),
        ({"hub": "a/b", "split": "test", "revision": 10**39}, "give a commit"),
        ({"hub": "../b", "split": "test"}, "OWNER/NAME"),
        ({"hub": "a/b", "split": "../x"}, "pattern"),
        ({"hub": "a/b", "files": ["../x.json"]}, "not a file name inside a folder"),
        ({"hub": "a/b", "files": ["x.pkl"]}, "can run code"),
        ({"url": "file:///etc/passwd"}, "give an address"),
        ({"url": "https://me:secret@host/x.tsv"}, "without user and password"),
        ({"url": "https://host/model.pt"}, "can run code"),
        ({"url": "https://host/"}, "not a file name"),
        ({"url": "https://host/%2e%2e"}, "not a file name"),
        ({"url": "https://host/a%2Fb.tsv"}, "names a folder"),
        ({"url": "https://host/a.tsv", "sha256": "abc"}, "64 hexadecimal"),
        ({"url": "https://host/a.tsv", "split": "test"}, "belong to hub"),
        ({"url": "https://host/\u00e9.tsv"}, "as %XX"),
        ({"url": "https://host/a b.tsv"}, "as %XX"),
        ({"url": "https://host:99999/a.tsv"}, "not a valid address"),
        ({"url": f"https://{'a' * 300}/a.tsv"}, "not a valid address"),
        ({"url": "https://./a.tsv"}, "not a valid address"),
        ({"url": f"https://host/{'a' * 300}"}, "longer than 200 bytes"),
        ({"parts": [{"url": "https://host/a", "name": "."}]}, "not a file name"),
        ({"parts": [{"url": "https://a/x"}, {"url": "https://b/x"}]}, "the same name"),
    ],
)
def test_what_no_origin_can_be(values, words):
    with pytest.raises(ValueError, match=words):
        Origin.model_validate(values)


COMMIT, NEXT = "0123456789abcdef0123456789abcdef01234567", "1" * 40
CARD = b"""---
license: mit
configs:
- config_name: en
  data_files:
  - split: dev
    path: en/dev-*
  - split: test
    path: en/test-*
- config_name: cn
  default: true
  data_files:
  - split: dev
    path:
    - cn/dev-*
---
# A dataset
"""


def table(*numbers: int) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"n": list(numbers)}), out)
    return out.getvalue()


FILES = {
    "README.md": CARD,
    "en/dev-00000-of-00002.parquet": table(1, 2),
    "en/dev-00001-of-00002.parquet": table(3),
    "en/test-00000-of-00001.parquet": table(4),
    "cn/dev-00000-of-00001.parquet": table(5),
    "load.py": b"import os",
    "extra/questions.json": b"[]",
    "extra/weights.pkl": b"a pickle",
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    monkeypatch.chdir(tmp_path)
    repos = {
        "owner/data": Repo({COMMIT: dict(FILES)}, {"main": COMMIT}),
        "lmms-lab-encoder/moved": Repo({COMMIT: dict(FILES)}, {"main": COMMIT}),
        "owner/plain": Repo({COMMIT: {"data/test-00000-of-00001-1a2b.parquet": table(7)}}, {"main": COMMIT}),
        "owner/script": Repo({COMMIT: {"load.py": b"import os"}}, {"main": COMMIT}),
        "owner/gated": Repo({COMMIT: dict(FILES)}, refuses="GatedRepo"),
    }
    with serving(repos, tmp_path / "cache", monkeypatch) as server:
        yield server


def hub_origin(hub: str = "owner/data", split: str | None = "dev", **more) -> Origin:
    return Origin.model_validate({"hub": hub, "revision": COMMIT, "split": split, **more})


def numbers(one: Origin, source: str = REMOTE) -> list[int]:
    found = locate("toy", source, one)
    values = [row.integer("n") for row in rows(found, ["n"])]
    assert count_rows(found) == len(values)
    return values


def test_only_the_tables_of_the_split_are_fetched_in_order(hub):
    assert numbers(hub_origin(config="en")) == [1, 2, 3]
    assert set(Handler.served) == {"README.md", *(name for name in FILES if name.startswith("en/dev"))}
    Handler.requests.clear()
    assert numbers(hub_origin(config="en")) == [1, 2, 3] and Handler.requests == []
    assert numbers(hub_origin(config="en", split="test+dev")) == [4, 1, 2, 3]
    assert numbers(hub_origin()) == [5]  # the card's default
    assert numbers(hub_origin(config="*")) == [5, 1, 2, 3]
    assert numbers(hub_origin("owner/plain", "test")) == [7]


def test_files_that_are_no_tables(hub):
    found = locate("toy", REMOTE, hub_origin(split=None, files=["extra/*.json"]))
    assert [file.name for file in found.files] == ["extra/questions.json"]
    with pytest.raises(UserError, match=r"no file extra/answers\.json at 0123456789ab"):
        fetch("toy", hub_origin(split=None, files=["extra/questions.json", "extra/answers.json"]))
    with pytest.raises(UserError, match=r"weights\.pkl' may be a pickle, which can run code"):
        fetch("toy", hub_origin(split=None, files=["extra/*"]))


def test_the_organisation_that_a_repository_moved_to_is_asked(hub):
    assert same_repositories("lmms-lab/moved") == ["lmms-lab/moved", "lmms-lab-encoder/moved"]
    assert numbers(hub_origin("lmms-lab/moved", config="en")) == [1, 2, 3]
    assert numbers(hub_origin("lmms-lab-encoder/moved", config="en", split="test")) == [4]


def test_a_branch_that_moves_is_taken_when_asked_for(hub):
    floating = hub_origin(revision=None, config="en", split="test")
    assert fetch("toy", floating).revision == COMMIT
    Handler.repos["owner/data"].commits[NEXT] = {**FILES, "en/test-00000-of-00001.parquet": table(9)}
    Handler.repos["owner/data"].branches["main"] = NEXT
    assert numbers(floating) == [4]
    assert fetch("toy", floating).revision == NEXT and numbers(floating) == [9]


@pytest.mark.parametrize("name", ["en/test-00000-of-00001.parquet", "extra/questions.json"])
def test_bytes_that_are_not_what_the_hub_says_are_refused_and_removed(hub, name):
    one = hub_origin(split=None, files=[name])
    right = FILES[name]
    Handler.repos["owner/data"].altered[name] = right[:-1] + b"x"
    with pytest.raises(UserError, match="damaged in transfer and has been removed; fetch it again"):
        fetch("toy", one)
    assert not is_here(REMOTE, one)
    Handler.repos["owner/data"].altered.clear()
    assert locate("toy", REMOTE, one).files[0].path.read_bytes() == right


def test_without_the_network_one_line_says_what_to_run(hub, monkeypatch):
    assert numbers(hub_origin(config="en")) == [1, 2, 3]
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the client's pauses between its attempts
    hub.shutdown()
    hub.server_close()
    assert numbers(hub_origin(config="en")) == [1, 2, 3]
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(UserError, match=r"run `vouch fetch toy` on a machine with a network") as caught:
        fetch("toy", hub_origin(config="en", split="test"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("one", "words"),
    [
        ({"hub": "owner/gated"}, "gated; accept its terms"),
        ({"hub": "owner/absent"}, r"no such repository.*datasets\.toy\.origin"),
        ({"revision": "f" * 40}, r"no such commit or branch; correct datasets\.toy\.origin"),
        ({"split": "train", "config": "en"}, "no split train; valid: dev, test"),
        ({"config": "de"}, "no config de; valid: cn, en"),
        ({"hub": "owner/script"}, "code of a repository is never run"),
    ],
)
def test_refusals_of_the_hub_are_one_line(hub, one, words):
    with pytest.raises(UserError, match=words) as caught:
        fetch("toy", hub_origin(**one))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("where", ["status", "files"])
@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_statuses_of_the_hub_are_one_line_and_the_next_run_goes_on(hub, monkeypatch, status, where):
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the client's pauses between its attempts
    one = hub_origin(config="en")
    setattr(Handler.repos["owner/data"], where, status)
    with pytest.raises(UserError, match=r"^owner/data at 0123456789ab: ") as caught:
        fetch("toy", one)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 400
    assert str(status) in message or "no such repository" in message or "gated" in message, message
    assert not is_here(REMOTE, one)
    setattr(Handler.repos["owner/data"], where, None)
    assert numbers(one) == [1, 2, 3]


def test_a_download_that_is_cut_goes_on(hub, monkeypatch):
    """The client asks for the rest; where the hub stays away, the files that are whole are kept."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    first, second = (f"en/dev-0000{n}-of-00002.parquet" for n in (0, 1))
    cut = Handler.repos["owner/data"].cut
    cut[first], cut[second] = [100], [100] + [0] * 20
    with pytest.raises(UserError, match=r"^owner/data at 0123456789ab: .*run `vouch fetch toy`"):
        fetch("toy", hub_origin(config="en"))
    asked = [path.rpartition("/")[2] for path in Handler.requests]
    assert asked.count(second.rpartition("/")[2]) > 3 and not is_here(REMOTE, hub_origin(config="en"))
    cut.clear()
    Handler.served.clear()
    assert numbers(hub_origin(config="en")) == [1, 2, 3]
    assert first not in Handler.served and second in Handler.served


def test_a_folder_laid_out_as_the_repository_is_read_instead(hub, tmp_path):
    for name, data in FILES.items():
        path = tmp_path / "mirror" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert numbers(hub_origin(config="en", split="test+dev"), "mirror") == [4, 1, 2, 3]
    assert Handler.requests == []
    (tmp_path / "mirror/README.md").unlink()
    assert numbers(hub_origin(config="en"), "mirror") == [1, 2, 3]  # by the names of the files
    with pytest.raises(UserError, match=r"mirror: no file data\.json, which datasets\.toy\.origin names"):
        locate("toy", "mirror", hub_origin(split=None, files=["data.json"]))
    outside = tmp_path / "outside.parquet"
    outside.write_bytes(table(1))
    (tmp_path / "mirror/en/dev-00001-of-00002.parquet").unlink()
    (tmp_path / "mirror/en/dev-00001-of-00002.parquet").symlink_to(outside)
    with pytest.raises(UserError, match="a link that leads out of mirror"):
        numbers(hub_origin(config="en"), "mirror")
