"""`vouch fetch` and `vouch plan` on datasets that come from the network, and what may be left unpinned."""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import set_params
from tests.models.pins.loopback_hub import Handler, Repo, serving
from vouch.cli import fetch
from vouch.cli.counts import Items, count_items
from vouch.datasets.config import DatasetEntry
from vouch.params.check import check_params
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ORIGIN = {"hub": "owner/data", "revision": COMMIT, "files": ["a.tsv"]}


@pytest.fixture
def checkout(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A checkout with one dataset and one model of a hub that is on the loopback address."""
    models = f"models: {{m: {{source: {{kind: hub, repo: owner/model, revision: '{COMMIT}'}}}}}}\n"
    Path("models.lock").write_text(models)
    write(ORIGIN)
    table = b"index\tquestion\tA\tB\tanswer\timage\n"
    weights = {"config.json": b"{}", "model.safetensors": b"weights"}
    repos = {
        "owner/data": Repo({COMMIT: {"a.tsv": table}}, {"main": COMMIT}),
        "owner/model": Repo({COMMIT: weights}, {"main": COMMIT}),
    }
    with serving(repos, bare / "hf", monkeypatch):
        yield


def write(origin: dict[str, object], source: str = "vouch/datasets/fetch") -> None:
    entry = {"loader": "mmbench", "source": source, "origin": origin, "template": "plain"}
    set_params(datasets={"mm": entry}, models={"m": "models.lock"}, train={})


def run(*names: str) -> int:
    return fetch.run(argparse.Namespace(names=list(names)))


def test_datasets_and_weights_come(checkout, capsys):
    assert run() == 0
    said = capsys.readouterr().out
    assert "fetch: mm: owner/data at 0123456789ab: 1 files, 32 bytes\n" in said
    assert f"fetch: m: owner/model at {COMMIT}\n" in said
    Handler.requests.clear()
    assert run("m") == 0 and not [path for path in Handler.requests if "datasets" in path]
    with pytest.raises(UserError, match=r"no dataset or model mn; .*mm?"):
        run("mn")


def test_what_is_not_pinned_is_allowed_by_name_and_said(checkout, capsys):
    write({**ORIGIN, "revision": None})
    with pytest.raises(UserError, match=r"datasets\.mm\.origin: has no revision; .* `unpinned: true` there"):
        run()
    write({**ORIGIN, "revision": None, "unpinned": True})
    run("mm")
    assert f"it is at {COMMIT}, `vouch lock` pins it" in capsys.readouterr().out
    write({**ORIGIN, "revision": None}, source="../mirror")  # a folder is watched itself
    check_params(load(Path("params.yaml")), "params.yaml")


def test_a_plan_needs_no_network(checkout):
    entry = {"loader": "mmbench", "source": "vouch/datasets/fetch", "origin": ORIGIN, "template": "plain"}
    unknown = DatasetEntry.model_validate(entry)
    named = DatasetEntry.model_validate({**entry, "settings": {"expect": {"items": 12}}})
    Handler.requests.clear()
    assert count_items("mm", unknown).text == "?" and count_items("mm", named).text == "12"
    assert not count_items("mm", named).here
    assert Handler.requests == []
    run("mm")
    assert count_items("mm", named) == Items(0, here=True, questions=0), "the table's rows"


def test_what_does_not_come_has_a_line_and_the_others_come(checkout, capsys):
    params = load(Path("params.yaml"))
    folder = {"loader": "jsonl", "source": "../own", "template": "plain"}
    drawn = {"loader": "oodcv_vqa", "source": "vouch/datasets/fetch", "template": "plain"}
    params["datasets"] |= {"own": folder, "drawn": drawn}
    params["models"] |= {"gated": "models.lock", "away": "../weights/away"}
    Path("params.yaml").write_text(json.dumps(params))
    models = load(Path("models.lock"))
    models["models"]["gated"] = {"source": {"kind": "hub", "repo": "owner/gated", "revision": COMMIT}}
    models["models"]["away"] = {"source": {"kind": "folder", "path": "../weights/away"}}
    Path("models.lock").write_text(json.dumps(models))
    Handler.repos["owner/gated"] = Repo(
        {COMMIT: {"config.json": b"{}"}}, {"main": COMMIT}, refuses="GatedRepo"
    )
    assert run() == 1
    said = capsys.readouterr()
    assert [line.split(":")[1] for line in said.out.splitlines()] == [" mm", " m"]
    lines = dict(re.findall(r"^fetch: (\w+): (.*)$", said.err, re.MULTILINE))
    assert lines["gated"].endswith("gated; accept its terms on the hub and log in with `hf auth login`")
    assert lines["own"] == "put it at ../own by hand (docs/datasets.md)"
    assert lines["away"] == "put its folder at ../weights/away by hand"
    assert set(lines) == {"gated", "own", "away", "drawn"} and len(lines["drawn"]) > 20
    assert said.err.splitlines()[-1] == "fetch: 4 of 6 could not be fetched"
    assert run("mm", "m") == 0
