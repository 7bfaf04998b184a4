"""`vouch publish card` and `vouch publish hub`."""

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pandas as pd
import pytest

from tests.cli.conftest import Vouch
from tests.datasets.test_fetch import listening
from vouch.cli.card import sensitivity, with_guesses
from vouch.library.estimates import results

PLACE = {"dataset": "kites", "output": "letters", "model": "alpha", "score": ""}


def cost(variation: str, original: float, value: float, metric: str = "accuracy") -> dict[str, Any]:
    gap = value - original
    ends = {"difference": gap, "low": gap - 0.05, "high": gap + 0.05}
    return {**PLACE, "variation": variation, "metric": metric, "value": value, "original": original, **ends}


@pytest.mark.parametrize(
    ("guess", "values", "claims"),
    [  # guess: the accuracy of a guess on negated questions, whose correct answer changes
        (
            0.75,
            {"vr_b": (0.5, 0.4), "ls_n": (0.5, 0.6)},
            ("costliest", "ls_n", "60.0 %", "75 %", "50.0 %", "25 %"),
        ),
        (0.5, {"vr_b": (0.5, 0.4), "ls_n": (0.5, 0.6)}, ("costliest", "vr_b", "-10.0 [-15.0, -5.0]")),
        (
            0.75,
            {"vr_b": (0.5, 0.48), "ls_n": (0.3, 0.8)},
            ("None", "significantly", "vr_b", "-2.0 [-7.0, +3.0]"),
        ),
    ],
    ids=["a gain smaller than that of a guess is a loss", "two options", "no significant cost"],
)
def test_the_costliest_variation(
    guess: float, values: dict[str, tuple[float, float]], claims: tuple[str, ...]
) -> None:
    rows = [cost(variation, *pair) for variation, pair in values.items()]
    opposite = cost("ls_n", 0, 0.4, "not_flipped")
    every = {("kites", "ls_n", "letters", "alpha"): {("random_accuracy", ""): {"value": guess}}}
    (sentence,) = sensitivity(with_guesses([*rows, opposite], every))
    assert (
        all(claim in sentence for claim in claims)
        and sentence.count("(vr_b)") + sentence.count("(ls_n)") == 1
    )


TABLES = {
    "headline": pd.DataFrame({"model": ["a", "é"], "items": [7, 8], "ece": [0.1, None], "f1": [None, None]}),
    "differences": pd.DataFrame({"first": ["a"], "p": [1e-300], "low": [-0.1]}),
    "rejects": pd.DataFrame({"dataset": [], "reason": []}),
}
FILES = ["README.md", "tables/differences.parquet", "tables/headline.parquet"]


@pytest.fixture(autouse=True)
def reported(bare: Path) -> Path:
    """A checkout with the tables of a report, one of them empty."""
    (bare / "reports/tables").mkdir(parents=True)
    for name, table in TABLES.items():
        table.to_csv(bare / f"reports/tables/{name}.csv", index=False)
    return bare


def test_a_folder_that_load_dataset_and_the_library_read(reported: Path, vouch: Vouch) -> None:
    """A configuration for each table with a row; the same tables give the same bytes."""
    said = vouch("publish", "hub", "--folder", "../out")
    folder = (reported / "../out").resolve()
    assert said == f"hub: 2 tables in {reported}/../out\n"
    written = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    assert [path.relative_to(folder).as_posix() for path in written] == FILES
    of_report = results(reported / "reports")
    found = results(folder)
    assert list(found) == ["differences", "headline"] and set(of_report) - set(found) == {"rejects"}
    assert datasets.get_dataset_config_names(str(folder)) == ["differences", "headline"]
    for name, table in found.items():
        pd.testing.assert_frame_equal(table, of_report[name])
        loaded = datasets.load_dataset(str(folder), name, split="train", cache_dir=str(reported / "cache"))
        pd.testing.assert_frame_equal(loaded.to_pandas(), of_report[name])
    first = datasets.load_dataset(str(folder), split="train", cache_dir=str(reported / "cache"))
    assert first.column_names == list(TABLES["headline"])
    vouch("publish", "hub", "--folder", "../out")
    assert {path: path.read_bytes() for path in written} == written


class Hub(BaseHTTPRequestHandler):
    """Takes one commit; `sent` has what came, by path. status: the answer to the question for a repository."""

    sent: ClassVar[dict[str, Any]] = {}
    status: ClassVar[int] = 200

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        tree = "/tree/" in self.path
        old = {"type": "file", "path": "tables/old.parquet", "size": 1, "oid": "1" * 40}
        self._answer([old] if tree else {"id": "me/results", "sha": "0" * 40, "siblings": []})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.sent[self.path] = body
        self.sent["token"] = self.headers["Authorization"]
        if self.path == "/api/repos/create":
            return self._answer({"url": f"{self.server_url}/datasets/me/results"}, self.status)
        if "/preupload/" in self.path:
            modes = {"uploadMode": "regular", "shouldIgnore": False}
            return self._answer(
                {"files": [modes | {"path": one["path"]} for one in json.loads(body)["files"]]}
            )
        if "/commit/" in self.path:
            return self._answer(
                {"commitUrl": f"{self.server_url}/datasets/me/results/commit/0", "commitOid": "0" * 40}
            )
        self._answer({"errors": [], "warnings": []})

    @property
    def server_url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def _answer(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    with listening(Hub) as address:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr(Hub, "sent", {})
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("HF_TOKEN", "hf_of_the_environment")
        yield Hub


def test_what_is_sent(vouch: Vouch, hub: type[Hub], reported: Path) -> None:
    """One commit to a private repository, with the token of the environment; the files are those of --folder."""
    assert vouch("publish", "hub", "me/results").endswith("/datasets/me/results\n")
    assert hub.sent["token"] == "Bearer hf_of_the_environment"
    made = json.loads(hub.sent["/api/repos/create"])
    assert (made["name"], made["organization"], made["type"]) == ("results", "me", "dataset")
    assert made["visibility"] == "private"
    lines = [json.loads(line) for line in hub.sent["/api/datasets/me/results/commit/main"].splitlines()]
    assert [line["value"]["path"] for line in lines if line["key"] == "deletedFile"] == ["tables/old.parquet"]
    files = {line["value"]["path"]: line["value"] for line in lines if line["key"] == "file"}
    assert sorted(files) == FILES
    vouch("publish", "hub", "--folder", "results")
    for name in FILES[1:]:
        assert base64.b64decode(files[name]["content"]) == (reported / "results" / name).read_bytes()
    assert '"me/results", "headline"' in base64.b64decode(files["README.md"]["content"]).decode()


def test_what_cannot_be_sent(vouch: Vouch, hub: type[Hub], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "status", 500)
    assert "me/results at main: the hub answered 500" in vouch("publish", "hub", "me/results", status=1)
    monkeypatch.delenv("HF_TOKEN")
    assert "me/results: no token; set HF_TOKEN" in vouch("publish", "hub", "me/results", status=1)
    for path in Path("reports/tables").glob("*.csv"):
        path.unlink()
    assert "'reports' has no tables" in vouch("publish", "hub", "--folder", "results", status=1)
