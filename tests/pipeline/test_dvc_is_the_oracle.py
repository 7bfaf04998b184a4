"""vouch/pipeline/dag.py and expansion.py against DVC's own reading of dvc.yaml: commands, inputs, outputs, parameters, edges."""

import json
import shutil
from pathlib import Path

import pytest
from dvc.repo import Repo

from vouch.pipeline.dag import Stage, read_dag
from vouch.pipeline.errors import UserError

ROOT = Path(__file__).parents[2]

# values that YAML 1.1 and 1.2 read differently stand in places that become params
MANY = """
profile: many
datasets:
  alpha: {loader: shapes, source: vouch/demo/scenes, template: kostumov, settings: {seed: 0o17, items: 010, on_error: skip}}
  beta: {loader: jsonl, source: src_beta, template: plain, settings: {}}
  gamma: {loader: released, source: ../elsewhere, template: kostumov, settings: {flag: yes, ratio: 1_0.5, tiny: 1e-3}}
variations: [original]
outputs: null
rewrite: {rewriter: data/models/two.json, clean: [alpha]}
embed: {images: {encoder: data/models/three.json, batch: 010}, texts: {encoder: data/models/two.json}}
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


@pytest.fixture(scope="module", params=["demo", "many", "no models"])
def made(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copy(ROOT / "dvc.yaml", folder)
    for name in ("stages", "vouch"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    texts = {"demo": (ROOT / "params.yaml").read_text("utf-8"), "many": MANY, "no models": NONE}
    (folder / "params.yaml").write_text(texts[request.param], "utf-8")
    (folder / "models.lock").write_text(LOCK, "utf-8")
    Repo.init(str(folder), no_scm=True).close()
    return folder


@pytest.fixture
def checkout(made, monkeypatch):
    monkeypatch.chdir(made)


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


def test_names_fit_files_and_rules_and_no_two_stages_share_one() -> None:
    names = [
        "extract@a-b_c",
        "extract@a_b-c",
        "extract@a_b_c-d",
        "score@released_x",
        "score_released@x",
        "compare",
    ]
    slugs = [Stage(name, "", (), (), {}).slug for name in names]
    assert len(set(slugs)) == len(names) and (slugs[0], slugs[-1]) == ("extract-a-b_c", "compare")
