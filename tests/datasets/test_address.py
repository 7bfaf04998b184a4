"""Files from addresses: a real server on the loopback address that loses connections and changes files."""

import io
from collections.abc import Iterator
from hashlib import sha256
from http.client import HTTPMessage
from pathlib import Path
from urllib.request import Request

import pytest

from tests.datasets.loopback_files import Files, serving_files
from vouch.datasets.fetch.download import _Elsewhere
from vouch.datasets.fetch.hub import fetch, is_here, locate
from vouch.datasets.fetch.origin import REMOTE, Origin
from vouch.pipeline.errors import UserError

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


def test_a_killed_fetch_goes_on_in_the_next_process(server):
    Files.cut["/a/items.tsv"] = [4000, 0]
    with pytest.raises(UserError, match=r"not on this machine .*run `vouch fetch toy` on a machine with the"):
        fetch("toy", origin(server))
    assert left() == [f".vouch/sources/files/.{DIGEST}.partial"] and not is_here(REMOTE, origin(server))
    Files.asked.clear()
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


def test_a_file_that_went_is_fetched_again(server):
    source = locate("toy", REMOTE, origin(server))
    source.files[0].path.unlink()
    assert not is_here(REMOTE, origin(server))
    assert locate("toy", REMOTE, origin(server)).files[0].path.read_bytes() == DATA


def test_a_damaged_file_is_fetched_anew_when_asked_for(server):
    path = locate("toy", REMOTE, origin(server)).files[0].path
    path.write_bytes(b"x" + DATA[1:])
    fetch("toy", origin(server))
    assert path.read_bytes() == DATA and len(Files.asked) == 2


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
    Files.cut["/a/items.tsv"] = [4000, 0]
    with pytest.raises(UserError):
        fetch("toy", origin(server))
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
        (b"200 OK\r\nContent-Length: \xb2\r\n\r\n", "sent nothing in place of the file"),
        (b"204 No\r\n\r\n", "sent nothing in place of the file"),
        (b"200 OK\r\n\r\n\n<!DOCTYPE html><p>log in", "sent a web page in place of the file"),
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
    Files.cut["/a/items.tsv"] = [4000, 0]
    with pytest.raises(UserError):
        fetch("toy", origin(server))
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
        ({"hub": "a/b", "files": ["../x.json"]}, "no file name inside a folder"),
        ({"hub": "a/b", "files": ["x.pkl"]}, "can run code"),
        ({"url": "file:///etc/passwd"}, "give an address"),
        ({"url": "https://me:secret@host/x.tsv"}, "without user and password"),
        ({"url": "https://host/model.pt"}, "can run code"),
        ({"url": "https://host/"}, "no file name"),
        ({"url": "https://host/%2e%2e"}, "no file name"),
        ({"url": "https://host/a%2Fb.tsv"}, "names a folder"),
        ({"url": "https://host/a.tsv", "sha256": "abc"}, "64 hexadecimal"),
        ({"url": "https://host/a.tsv", "split": "test"}, "belong to hub"),
        ({"url": "https://host/\u00e9.tsv"}, "as %XX"),
        ({"url": "https://host/a b.tsv"}, "as %XX"),
        ({"url": "https://host:99999/a.tsv"}, "not a valid address"),
        ({"url": f"https://{'a' * 300}/a.tsv"}, "not a valid address"),
        ({"url": "https://./a.tsv"}, "not a valid address"),
        ({"url": f"https://host/{'a' * 300}"}, "longer than 200 bytes"),
        ({"parts": [{"url": "https://host/a", "name": "."}]}, "no file name"),
        ({"parts": [{"url": "https://a/x"}, {"url": "https://b/x"}]}, "the same name"),
    ],
)
def test_what_no_origin_can_be(values, words):
    with pytest.raises(ValueError, match=words):
        Origin.model_validate(values)
