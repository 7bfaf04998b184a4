"""Bad input at the stages' own doors: one line, exit status 1, nothing that looks whole."""

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.checkouts.checkout import ROOT
from vouch.params.start import run_stage

MEANT = ("dvc.yaml", "stages", "vouch", "docs", "decisions")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The present folder: as much of a checkout as a stage reads, profile small."""
    for name in MEANT:
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "profiles/small.yaml", tmp_path / "params.yaml")
    shutil.copy(ROOT / "models.lock", tmp_path)
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, before)  # a stage listens to it


def edit(old, new):
    text = Path("params.yaml").read_text("utf-8")
    assert old in text
    Path("params.yaml").write_text(text.replace(old, new), "utf-8")


def start(monkeypatch, module, *words):
    """What a stage's process would exit with: 0, or the line of its error, which means status 1."""
    monkeypatch.setattr(sys, "argv", [module, *words])
    with pytest.raises(SystemExit) as ended:
        run_stage(module.removeprefix("stages."), importlib.import_module(module).main)
    return ended.value.code


def refuse(monkeypatch, *command):
    line = start(monkeypatch, *command)
    assert isinstance(line, str) and line.startswith("vouch: ")
    first, *problems = line.splitlines()
    assert not problems or first.endswith(f": {len(problems)} problems")
    assert all(problem.startswith("  - ") for problem in problems)
    assert not [path for path in Path("data").rglob("*") if path.is_file()], "something was left behind"
    return line


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("profile: small", "profile: small\nscoer: {}", ["params.yaml", "unknown key scoer", "did you mean score?"]),
        ("alpha: 0.1", "alfa: 0.1", ["params.yaml", "score.alfa", "did you mean alpha?"]),
        ("alpha: 0.1", "alpha: two", ["params.yaml", "score.alpha", "two"]),
        ("alpha: 0.1", "alpha: 1.5", ["params.yaml", "score.alpha", "1.5"]),
        ("loader: shapes, source: vouch/demo/scenes, template: plain", "loader: shpaes, source: vouch/demo/scenes, template: plain",
         ["params.yaml", "datasets.right.loader", "shpaes", "did you mean shapes?"]),
        ("template: plain", "template: plian", ["datasets.right.template", "did you mean plain?"]),
        ("items: 20", "itmes: 20", ["datasets.right.settings", "itmes", "did you mean items?"]),
        ("variations: [original]", "variations: [orignal]", ["variations", "did you mean original?"]),
        ("tiny_b: data/trained/tiny_b", "tiny_c: data/trained/tiny_c", ["models.tiny_c", "did you mean tiny_"]),
        ("\n  tiny_b: data/trained/tiny_b", "", ["tiny_b"]),
        ("engines/rules.py}", "engines/ruels.py}", ["params.yaml", "rewrite.rewriter", "data/models/NAME.json"]),
        ("vouch/prompts/rewrites/engines/rules.py}", "data/models/nobody.json}", ["rewrite.rewriter", "nobody", "tiny_a"]),
        ("encoders/colours.py}", "encoders/colour.py}", ["params.yaml", "embed.images.encoder", "data/models/NAME.json"]),
        ("vouch/models/encoders/none.py}", "data/models/nobody.json}", ["embed.texts.encoder", "nobody", "tiny_a"]),
        ("engines/rules.py}", "engines/rules.py, clean: [lfet]}", ["rewrite.clean", "lfet", "did you mean left?"]),
        ("rewrite: {rewriter", "rewrite: {rewriters", ["unknown key rewrite.rewriters", "did you mean rewriter?"]),
        ("helpers: {}", "helpers: {nowhere: models.lock}", ["models.lock", "nowhere"]),
        ("  left:", "  Left:", ["Left"]),
        ("width: 16", "width: sixteen", ["train.tiny_a.width"]),
        ("profile: small", "profile: [small", ["params.yaml", "YAML"]),
        ("splits: 10", "splits: 10, splits: 11", ["stands twice"]),
        ("seed: 42, splits", "seed: true, splits", ["params.yaml", "score.seed", "found true"]),
        ("alpha: 0.1", 'alpha: "0.1"', ["params.yaml", "score.alpha", "0.1"]),
        ("splits: 10", "splits: 10_000_000", ["params.yaml", "score.splits", "10000000"]),
        ("source: vouch/demo/scenes, template: plain", 'source: "", template: plain', ["datasets.right.source"]),
        ("source: vouch/demo/scenes, template: plain", 'source: "a\\0b", template: plain', ["datasets.right.source"]),
        ("  right:", "  r" + "i" * 100 + "ght:", ["at most 100 characters"]),
    ],
)  # fmt: skip
def test_params(monkeypatch, old, new, words):
    edit(old, new)
    line = refuse(monkeypatch, "stages.prepare", "left")
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models: {m: {source: {kind: folder}}}", ["models.lock", "path"]),
        ("models: {m: {source: {kind: hub, repo: a/b}}}", ["models.lock", "revision"]),
        ("models: {m: {source: {kind: folder, path: x}, dtpye: float32}}", ["dtpye", "dtype"]),
        ("modles: {}", ["models.lock"]),
    ],
)
def test_models_lock(monkeypatch, text, words):
    Path("models.lock").write_text(text + "\n", "utf-8")
    line = refuse(monkeypatch, "stages.prepare", "left")
    assert all(word in line for word in words), line


def test_what_is_not_there(monkeypatch):
    assert "valid: left, right" in refuse(monkeypatch, "stages.prepare", "middle")
    assert "data/items/left.parquet" in refuse(monkeypatch, "stages.vary", "left")


def test_a_process_ends_with_that_line():
    Path("params.yaml").write_text("profile: [small", "utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "stages.prepare", "left"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and re.fullmatch(r"vouch: .*params\.yaml.*\n", done.stderr), done.stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{not json", ["items.jsonl", "2"]),
        (
            '{"id": "b", "question": "q?", "options": ["x", "y"], "answer": 0, "image": "gone.png"}',
            ["gone.png", "b"],
        ),
        ('{"id": "b", "question": "q?", "options": ["x", "y"], "answer": 7}', ["b"]),
        ('{"id": "b", "question": "q?", "options": ["x"], "answer": 0}', ["b"]),
        ('{"id": "b", "question": "", "options": ["x", "y"], "answer": 0}', ["b"]),
        (
            '{"id": "b", "question": "q?", "options": ["x", "y"], "answer": 0, "image": "../../secret.png"}',
            ["secret"],
        ),
        ('{"id": "a", "question": "q?", "options": ["x", "y"], "answer": 0}', ["a"]),
        (
            json.dumps({"id": "b", "question": "q?", "options": [str(i) for i in range(27)], "answer": 0}),
            ["27"],
        ),
    ],
)
def test_own_data_stops_or_is_listed(monkeypatch, line, words):
    good = '{"id": "a", "question": "q?", "options": ["x", "y"], "answer": 0}'
    Path("own").mkdir()
    Path("own/items.jsonl").write_text(f"{good}\n{line}\n", "utf-8")
    entry = "own: {loader: jsonl, source: own, template: plain, settings: {on_error: stop}}"
    edit("datasets:", f"datasets:\n  {entry}")
    message = refuse(monkeypatch, "stages.prepare", "own")
    assert all(word in message for word in words), message
    assert "items.jsonl" in message and "2" in message

    edit("on_error: stop", "on_error: skip")
    assert start(monkeypatch, "stages.prepare", "own") == 0
    assert pq.read_table("data/items/own.parquet").num_rows == 1
    rejects = pq.read_table("data/rejects/own.parquet").to_pylist()
    assert len(rejects) == 1 and "2" in rejects[0]["where"]
