"""Datasets of the hub: a small one on the loopback address, with the real client and real parquet files."""

import io
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.models.pins.loopback_hub import Handler, Repo, serving
from vouch.datasets.fetch.hub import fetch, is_here, locate, same_repositories
from vouch.datasets.fetch.origin import REMOTE, Origin
from vouch.datasets.read.forms import count_rows, rows
from vouch.pipeline.errors import UserError

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


def origin(hub: str = "owner/data", split: str | None = "dev", **more) -> Origin:
    return Origin.model_validate({"hub": hub, "revision": COMMIT, "split": split, **more})


def numbers(one: Origin, source: str = REMOTE) -> list[int]:
    found = locate("toy", source, one)
    values = [row.integer("n") for row in rows(found, ["n"])]
    assert count_rows(found) == len(values)
    return values


def test_only_the_tables_of_the_split_are_fetched_in_order(hub):
    assert numbers(origin(config="en")) == [1, 2, 3]
    assert set(Handler.served) == {"README.md", *(name for name in FILES if name.startswith("en/dev"))}
    Handler.requests.clear()
    assert numbers(origin(config="en")) == [1, 2, 3] and Handler.requests == []
    assert numbers(origin(config="en", split="test+dev")) == [4, 1, 2, 3]
    assert numbers(origin()) == [5]  # the card's default
    assert numbers(origin(config="*")) == [5, 1, 2, 3]
    assert numbers(origin("owner/plain", "test")) == [7]


def test_files_that_are_no_tables(hub):
    found = locate("toy", REMOTE, origin(split=None, files=["extra/*.json"]))
    assert [file.name for file in found.files] == ["extra/questions.json"]
    with pytest.raises(UserError, match=r"no file extra/answers\.json at 0123456789ab"):
        fetch("toy", origin(split=None, files=["extra/questions.json", "extra/answers.json"]))
    with pytest.raises(UserError, match=r"weights\.pkl' can be a pickle, which can run code"):
        fetch("toy", origin(split=None, files=["extra/*"]))


def test_the_organisation_that_a_repository_moved_to_is_asked(hub):
    assert same_repositories("lmms-lab/moved") == ["lmms-lab/moved", "lmms-lab-encoder/moved"]
    assert numbers(origin("lmms-lab/moved", config="en")) == [1, 2, 3]
    assert numbers(origin("lmms-lab-encoder/moved", config="en", split="test")) == [4]


def test_a_branch_that_moves_is_taken_when_asked_for(hub):
    floating = origin(revision=None, config="en", split="test")
    assert fetch("toy", floating).revision == COMMIT
    Handler.repos["owner/data"].commits[NEXT] = {**FILES, "en/test-00000-of-00001.parquet": table(9)}
    Handler.repos["owner/data"].branches["main"] = NEXT
    assert numbers(floating) == [4]
    assert fetch("toy", floating).revision == NEXT and numbers(floating) == [9]


@pytest.mark.parametrize("name", ["en/test-00000-of-00001.parquet", "extra/questions.json"])
def test_bytes_that_are_not_what_the_hub_says_are_refused_and_removed(hub, name):
    one = origin(split=None, files=[name])
    right = FILES[name]
    Handler.repos["owner/data"].altered[name] = right[:-1] + b"x"
    with pytest.raises(UserError, match="damaged in transfer and has been removed; fetch it again"):
        fetch("toy", one)
    assert not is_here(REMOTE, one)
    Handler.repos["owner/data"].altered.clear()
    assert locate("toy", REMOTE, one).files[0].path.read_bytes() == right


def test_without_the_network_one_line_says_what_to_run(hub, monkeypatch):
    assert numbers(origin(config="en")) == [1, 2, 3]
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the client's pauses between its attempts
    hub.shutdown()
    hub.server_close()
    assert numbers(origin(config="en")) == [1, 2, 3]
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(UserError, match=r"run `vouch fetch toy` on a machine with a network") as caught:
        fetch("toy", origin(config="en", split="test"))
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
def test_refusals_are_one_line(hub, one, words):
    with pytest.raises(UserError, match=words) as caught:
        fetch("toy", origin(**one))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("where", ["status", "files"])
@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_statuses_are_one_line_and_the_next_run_goes_on(hub, monkeypatch, status, where):
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the client's pauses between its attempts
    one = origin(config="en")
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
        fetch("toy", origin(config="en"))
    asked = [path.rpartition("/")[2] for path in Handler.requests]
    assert asked.count(second.rpartition("/")[2]) > 3 and not is_here(REMOTE, origin(config="en"))
    cut.clear()
    Handler.served.clear()
    assert numbers(origin(config="en")) == [1, 2, 3]
    assert first not in Handler.served and second in Handler.served


def test_a_folder_laid_out_as_the_repository_is_read_instead(hub, tmp_path):
    for name, data in FILES.items():
        path = tmp_path / "mirror" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert numbers(origin(config="en", split="test+dev"), "mirror") == [4, 1, 2, 3]
    assert Handler.requests == []
    (tmp_path / "mirror/README.md").unlink()
    assert numbers(origin(config="en"), "mirror") == [1, 2, 3]  # by the names of the files
    with pytest.raises(UserError, match=r"mirror: no file data\.json, which datasets\.toy\.origin names"):
        locate("toy", "mirror", origin(split=None, files=["data.json"]))
    outside = tmp_path / "outside.parquet"
    outside.write_bytes(table(1))
    (tmp_path / "mirror/en/dev-00001-of-00002.parquet").unlink()
    (tmp_path / "mirror/en/dev-00001-of-00002.parquet").symlink_to(outside)
    with pytest.raises(UserError, match="a link that leads out of mirror"):
        numbers(origin(config="en"), "mirror")
