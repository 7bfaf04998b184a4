"""vouch/pipeline/dag.py and expansion.py against DVC's own reading of dvc.yaml: commands, inputs, outputs, parameters, edges."""

import json
import shutil
from pathlib import Path

import pytest
from dvc.repo import Repo

from vouch.pipeline.dag import read_dag
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import loads

ROOT = Path(__file__).parents[2]

# values that YAML 1.1 and 1.2 read differently stand in places that become params
MANY = """
profile: many
datasets:
  alpha: {loader: shapes, source: vouch/demo/scenes, template: kostumov, settings: {seed: 0o17, items: 010, on_error: skip}}
  beta: {loader: jsonl, source: src_beta, template: plain, settings: {}}
  gamma: {loader: released, source: ../elsewhere, template: kostumov, settings: {flag: yes, ratio: 1_0.5, tiny: 1e-3}}
variations: [original]
rewrite: {rewriter: data/models/two.json, clean: [alpha]}
embed: {pictures: {encoder: data/models/three.json, batch: 010}, texts: {encoder: data/models/two.json}}
models: {one: data/trained/one, two: ../weights, four: ../elsewhere}
helpers: {three: models.lock}
train: {one: {seed: 12e4, width: 8, learning_rate: 3.0e-3, nested: {on: off, list: [1, 2.5, null, ~]}}}
extract: {batch: 4, bucket: 8, threads: 1, device: cpu}
score: {alpha: .1, calibration: 0.5, seed: 42, splits: 3, bins: 15}
compare: {seed: 1, resamples: 10}
browse: {images: true, thumbnail: 64, budget: 100000}
report: {title: "Ünïcode"}
"""
NONE = MANY.replace(
    "models: {one: data/trained/one, two: ../weights, four: ../elsewhere}", "models: {}"
).replace("helpers: {three: models.lock}", "helpers: {}")
LOCK = 'models:\n  two: {source: {kind: folder, path: "0123456"}}\n  three: {source: {kind: hub, revision: "12e4567"}}\n'


@pytest.fixture(params=["demo", "many", "no models"])
def checkout(request, tmp_path, monkeypatch):
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    for name in ("stages", "vouch"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    texts = {"demo": (ROOT / "params.yaml").read_text("utf-8"), "many": MANY, "no models": NONE}
    (tmp_path / "params.yaml").write_text(texts[request.param], "utf-8")
    (tmp_path / "models.lock").write_text(LOCK, "utf-8")
    monkeypatch.chdir(tmp_path)
    Repo.init(no_scm=True).close()
    return tmp_path


def of_dvc(stage):
    params = {}
    for dep in stage.deps:
        if type(dep).__name__ == "ParamsDependency":
            params[dep.def_path] = dep.read_params_d() if hasattr(dep, "read_params_d") else dep.read_params()
    return {
        "cmd": stage.cmd,
        "deps": sorted(d.def_path for d in stage.deps if type(d).__name__ != "ParamsDependency"),
        "outs": sorted(o.def_path for o in stage.outs),
        "params": params,
    }


def test_same_stages(checkout):
    with Repo() as repo:
        theirs = {stage.addressing: of_dvc(stage) for stage in repo.index.stages}
    ours = {
        name: {
            "cmd": stage.cmd,
            "deps": sorted(stage.deps),
            "outs": sorted(stage.outs),
            "params": {file: dict(values) for file, values in stage.params.items()},
        }
        for name, stage in read_dag().stages.items()
    }
    assert json.loads(json.dumps(ours)) == json.loads(json.dumps(theirs))


def test_same_edges(checkout):
    with Repo() as repo:
        theirs = {
            stage.addressing: sorted(before.addressing for before in repo.index.graph.successors(stage))
            for stage in repo.index.stages
        }
    dag = read_dag()
    assert {stage.name: dag.upstream(stage) for stage in dag.stages.values()} == theirs


def test_order_respects_edges(checkout):
    dag = read_dag()
    place = {stage.name: i for i, stage in enumerate(dag.ordered())}
    assert sorted(place) == sorted(dag.stages)
    for stage in dag.stages.values():
        assert all(place[before] < place[stage.name] for before in dag.upstream(stage))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("one: data/trained/one", "one: [data]", "plain value"),
        ("helpers: {three", "helpers: {{three", "line"),
        ("\nhelpers: {three: models.lock}", "", "helpers"),
        ("\nprofile: many", "\nprofile: many\nprofile: again", "stands twice"),
        ("template: plain, ", "", "item.template"),
    ],
)
def test_one_line_for_broken_params(tmp_path, monkeypatch, old, new, words):
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    (tmp_path / "models.lock").write_text(LOCK, "utf-8")
    text = MANY.replace(old, new)
    assert text != MANY
    (tmp_path / "params.yaml").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=words) as caught:
        read_dag()
    assert "\n" not in str(caught.value)


def test_unknown_command_lists_what_is_known(checkout):
    with pytest.raises(UserError, match="valid:"):
        read_dag().by_command("python -m stages.prepare nothing")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"), ("on", "on"), ("1:30", "1:30"), ("0o17", 15), ("010", 10), ("12e4567", float("inf")),
        ("0x1F", 31), ("1e3", 1000.0), (".5", 0.5), ("~", None), ("", None), ("null", None), ("true", True),
        ("'1'", "1"), ("1_000", 1000), ("0b11", 3), ("1_0.5", 10.5), ("-.inf", float("-inf")),
    ],
)  # fmt: skip
def test_scalars_are_yaml_1_2(text, value):
    found = loads(text, "here")
    assert (found, type(found)) == (value, type(value))


def test_a_plain_date_is_refused():
    with pytest.raises(UserError, match=r"p\.yaml line 1: .*quotes"):
        loads("k: 2026-11-20", "p.yaml")


def test_scalars_agree_with_dvc(tmp_path):
    from dvc.utils.serialize import load_yaml

    scalars = ["yes", "off", "1:30", "010", "0o17", "1e3", "12e4567", "0x1F", ".5", "5.", "~", "null", "True", "-1",
               "+1", "1_000", "0b11", "1_0.5", "+.inf", "'q'", "[1, two]", "{a: 1}", "1e-3", "<<x"]  # fmt: skip
    path = tmp_path / "p.yaml"
    path.write_text("\n".join(f"k{i}: {scalar}" for i, scalar in enumerate(scalars)), "utf-8")
    theirs, ours = load_yaml(str(path)), loads(path.read_text("utf-8"), "p.yaml")
    assert {k: repr(v) for k, v in ours.items()} == {k: repr(v) for k, v in theirs.items()}
