"""Bad input at the stages' own doors: one line, exit status 1, nothing that looks whole."""

import json
import shutil

import pytest

from tests.checkouts.checkout import Checkout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return Checkout(tmp_path_factory.mktemp("bad") / "one")


@pytest.fixture
def params(checkout):
    """Restores params.yaml and models.lock after each test."""
    kept = {name: (checkout.path / name).read_bytes() for name in ("params.yaml", "models.lock")}
    yield checkout
    for name, content in kept.items():
        (checkout.path / name).write_bytes(content)
    shutil.rmtree(checkout.path / "data", ignore_errors=True)


def refuse(checkout, *command):
    done = checkout.run("python", "-m", *command, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("vouch: "), done.stderr
    data = checkout.path / "data"
    assert not data.exists() or not [p for p in data.rglob("*") if p.is_file()], "something was left behind"
    return lines[0]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("profile: small", "profile: small\nscoer: {}", ["params.yaml", "unknown key scoer", "did you mean score?"]),
        ("alpha: 0.1", "alfa: 0.1", ["params.yaml", "score.alfa", "did you mean alpha?"]),
        ("alpha: 0.1", "alpha: two", ["params.yaml", "score.alpha", "two"]),
        ("alpha: 0.1", "alpha: 1.5", ["params.yaml", "score.alpha", "1.5"]),
        ("loader: shapes, source: vouch/demo/scenes, template: plain", "loader: shpaes, source: vouch/demo/scenes, template: plain",
         ["params.yaml", "datasets.right.loader", "shpaes", "did you mean shapes?"]),
        ("template: plain", "template: plian", ["datasets.right.style", "did you mean plain?"]),
        ("items: 20", "itmes: 20", ["datasets.right.settings", "itmes", "did you mean items?"]),
        ("variations: [original]", "variations: [orignal]", ["variations", "did you mean original?"]),
        ("models: [tiny_a, tiny_b]", "models: [tiny_a, tiny_c]", ["models", "tiny_c", "did you mean tiny_"]),
        ("models: [tiny_a, tiny_b]", "models: [tiny_a]", ["tiny_b"]),
        ("engines/rules.py}", "engines/ruels.py}", ["params.yaml", "rewrite.rewriter", "data/models/NAME.json"]),
        ("vouch/prompts/rewrites/engines/rules.py}", "data/models/tiny_a.json}", ["rewrite.rewriter", "tiny_a", "valid: none"]),
        ("encoders/colours.py}", "encoders/colour.py}", ["params.yaml", "embed.encoder", "data/models/NAME.json"]),
        ("vouch/models/encoders/liken_none.py}", "data/models/tiny_a.json}", ["liken.encoder", "tiny_a", "valid: none"]),
        ("engines/rules.py}", "engines/rules.py, clean: [lfet]}", ["rewrite.clean", "lfet", "did you mean left?"]),
        ("rewrite: {rewriter", "rewrite: {rewriters", ["unknown key rewrite.rewriters", "did you mean rewriter?"]),
        ("pin: {}", "pin: {nowhere: ../x}", ["models.lock", "nowhere"]),
        ("  left:", "  Left:", ["Left"]),
        ("width: 16", "width: sixteen", ["train.tiny_a.width"]),
        ("profile: small", "profile: [small", ["params.yaml", "YAML"]),
        ("splits: 10", "splits: 10, splits: 11", ["stands twice"]),
        ("seed: 42, splits", "seed: true, splits", ["params.yaml", "score.seed", "True"]),
        ("alpha: 0.1", 'alpha: "0.1"', ["params.yaml", "score.alpha", "0.1"]),
        ("splits: 10", "splits: 10_000_000", ["params.yaml", "score.splits", "10000000"]),
        ("source: vouch/demo/scenes, template: plain", 'source: "", template: plain', ["datasets.right.source"]),
        ("source: vouch/demo/scenes, template: plain", 'source: "a\\0b", template: plain', ["datasets.right.source"]),
        ("  right:", "  r" + "i" * 100 + "ght:", ["at most 100 characters"]),
    ],
)  # fmt: skip
def test_params(params, old, new, words):
    params.edit("params.yaml", old, new)
    line = refuse(params, "stages.prepare", "left")
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
def test_models_lock(params, text, words):
    (params.path / "models.lock").write_text(text + "\n", "utf-8")
    line = refuse(params, "stages.prepare", "left")
    assert all(word in line for word in words), line


def test_a_stage_that_is_not_in_the_profile(params):
    assert "valid: left, right" in refuse(params, "stages.prepare", "middle")


def test_inputs_that_are_not_there(params):
    assert "data/items/left.parquet" in refuse(params, "stages.vary", "left")


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
def test_own_data_stops_or_is_listed(params, tmp_path, line, words):
    good = '{"id": "a", "question": "q?", "options": ["x", "y"], "answer": 0}'
    (tmp_path / "items.jsonl").write_text(f"{good}\n{line}\n", "utf-8")
    entry = f"datasets:\n  own: {{loader: jsonl, source: {tmp_path}, template: plain, settings: {{on_error: stop}}}}"
    params.edit("params.yaml", "datasets:", entry)
    message = refuse(params, "stages.prepare", "own")
    assert all(word in message for word in words), message
    assert "items.jsonl" in message and "2" in message

    params.edit("params.yaml", "on_error: stop", "on_error: skip")
    params.run("python", "-m", "stages.prepare", "own")
    import pyarrow.parquet as pq

    assert pq.read_table(params.path / "data/items/own.parquet").num_rows == 1
    rejects = pq.read_table(params.path / "data/rejects/own.parquet").to_pylist()
    assert len(rejects) == 1 and "2" in rejects[0]["where"]
