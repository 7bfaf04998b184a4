"""`make real`: its checkout is kept and follows what is committed here, and its own questions are sound."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.checkouts.checkout import ROOT
from tools.real import weights
from tools.real.__main__ import SERVED, last_port, make_checkout
from tools.real.serve import running
from vouch.pipeline.yaml12 import load

ITEMS = ROOT / "docs/examples/general/items.jsonl"


def test_its_checkout_is_kept_and_follows_what_is_committed(tmp_path: Path) -> None:
    pytest.importorskip("easy_vqa", reason="the package easy-vqa is not here: `make test` installs it")
    path = tmp_path / "checkout"
    assert last_port(path) == 0
    make_checkout(path)
    committed = (path / "models.lock").read_bytes()
    (path / ".vouch/work").mkdir(parents=True)
    kept = [path / ".vouch/work/answers", path / "data/answers", path / "reports/index.html"]
    for file in kept:
        file.write_text("made by a run", "utf-8")
    with (path / "models.lock").open("a", encoding="utf-8") as file:
        file.write(
            f"\n  {SERVED}: {{source: {{kind: server, url: 'http://127.0.0.1:4711/v1', name: a}}, engine: openai}}\n"
        )
    (path / "params.yaml").write_text("profile: another\n", "utf-8")
    assert last_port(path) == 4711

    checkout = make_checkout(path)
    assert (path / "models.lock").read_bytes() == committed and last_port(path) == 0
    assert all(file.read_text("utf-8") == "made by a run" for file in kept)
    assert checkout.git("status", "--porcelain") == ""
    assert (path / load(path / "profiles/real.yaml")["datasets"]["easy_vqa"]["source"]).is_dir()
    assert (path / "build/real/models").readlink() == weights.FOLDER


def test_every_letter_is_correct_equally_often() -> None:
    lines = [json.loads(line) for line in ITEMS.read_text("utf-8").splitlines()]
    assert Counter(line["answer"] for line in lines) == dict.fromkeys(range(4), len(lines) // 4)
    assert len({line["question"] for line in lines}) == len({line["id"] for line in lines}) == len(lines)
    assert all(len(set(line["options"])) == 4 for line in lines)


def test_what_makes_no_weights_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "SITE", tmp_path / "nothing installed")
    monkeypatch.setattr(weights, "FOLDER", tmp_path / "models")
    with pytest.raises(AssertionError, match=r"tools\.real\.weights .* gave 1\n(?s:.)*nothing installed"):
        weights.make_models()
    assert not (tmp_path / "models/recipe").exists()


def test_a_server_that_ends_is_told_with_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.real.serve.REAL", tmp_path)
    monkeypatch.setattr("tools.real.serve.SITE", tmp_path / "site")
    monkeypatch.setenv("HF_TOKEN", "hf_planted")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/xllamacpp.py").write_text(
        "import os; raise OSError(os.environ.get('HF_TOKEN', 'no token'))"
    )
    with (
        pytest.raises(OSError, match=r"the server ended with 1; see .*llama\.log"),
        running("llama", tmp_path / "no.gguf", 60),
    ):
        pass
    log = (tmp_path / "llama.log").read_text("utf-8")
    assert "xllamacpp" in log and log.endswith("OSError: no token\n")
