"""`vouch store warm` and `vouch store verify --recompute`: models asked outside the stages."""

import importlib
import json
import math
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.repo import Repo

from tests.models.project import MODEL, Project, quiz
from tests.models.requests.test_thinking import ending
from tests.models.tiny import save_llava
from vouch.cli.main import main
from vouch.models.config import ExtractConfig
from vouch.models.decoder import engine
from vouch.models.engine import ENGINES
from vouch.models.requests import DatasetRequests, Session
from vouch.models.responses import Recomputed, draw, recompute
from vouch.params.start import run_stage
from vouch.pipeline.dag import read_dag
from vouch.pipeline.digests import Digests
from vouch.pipeline.records import present, read_receipt, receipt_path
from vouch.tables.answered import RESPONSES, pin_path, read_pin
from vouch.tables.asked import LETTERS, OUTPUTS, TEXT

DATASETS = ("other", "quiz")
ITEMS = {"quiz": 5, "other": 3}


@pytest.fixture
def project(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, tiny)
    for name, count in ITEMS.items():
        made.params["datasets"][name]["settings"] = {"seed": count, "items": count}
    made.save()
    return made


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one with every load of a model."""
    real, counted = engine.load, list[str]()

    def load(pin: Any, config: Any) -> Any:
        counted.append(pin.model)
        return real(pin, config)

    monkeypatch.setattr(engine, "load", load)
    return counted


def stage(name: str, *keys: str) -> None:
    """A stage as its command runs it, with its receipt."""
    arguments, sys.argv = sys.argv, ["stage", *keys]
    try:
        run_stage(name, importlib.import_module(f"stages.{name}").main)
    except SystemExit as done:
        assert done.code == 0, done.code
    finally:
        sys.argv = arguments


@pytest.fixture
def prepared(project: Project) -> Project:
    for dataset in DATASETS:
        stage("prepare", dataset)
        stage("rewrite", dataset)
        stage("vary", dataset)
    stage("pin", MODEL)
    return project


def warm(capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert main(["store", "warm", MODEL]) == 0
    return capsys.readouterr().out.splitlines()


def extract(dataset: str) -> int:
    """Runs the stage; how many answers it asked for."""
    stage("extract", MODEL, dataset)
    record = json.loads(Path(f".vouch/runs/extract-{MODEL}-{dataset}.json").read_text("utf-8"))
    return int(record["measured"]["answers"]["asked"])


def responses() -> dict[str, bytes]:
    paths = [one.path(MODEL, dataset) for one in RESPONSES.values() for dataset in DATASETS]
    return {str(path): path.read_bytes() for path in paths}


def test_the_stages_ask_nothing_after_one_load(
    prepared: Project, loads: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert warm(capsys) == [
        "warm: tiny other: 3 asked, 0 known before",
        "warm: tiny quiz: 5 asked, 0 known before",
    ]
    assert loads == [MODEL]
    assert [extract(dataset) for dataset in DATASETS] == [0, 0] and loads == [MODEL]
    warmed = responses()
    shutil.rmtree(".vouch/work")
    assert [extract(dataset) for dataset in DATASETS] == [3, 5]
    assert responses() == warmed


def test_two_models_side_by_side(
    prepared: Project, capfd: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    prepared.further["second"] = save_llava(tmp_path_factory.mktemp("models") / "second", seed=1)
    prepared.save()
    for model in (MODEL, "second"):
        stage("pin", model)
    Path(".vouch").mkdir(exist_ok=True)
    Path(".vouch/work").write_text("in the way", "utf-8")
    capfd.readouterr()
    assert main(["store", "warm", "--jobs", "2"]) == 1  # what stops a process is told as if there was one
    assert re.fullmatch(r"vouch: .*\.vouch/work.*\n", capfd.readouterr().err)
    Path(".vouch/work").unlink()
    assert (
        main(["store", "warm", "--jobs", "0"]) == 1 and "--jobs 0: give the number" in capfd.readouterr().err
    )
    assert main(["store", "warm", "--jobs", "2"]) == 0
    assert sorted(capfd.readouterr().out.splitlines()) == [
        f"warm: {model} {dataset}: {ITEMS[dataset]} asked, 0 known before"
        for model in ("second", MODEL)
        for dataset in DATASETS
    ]
    assert [extract(dataset) for dataset in DATASETS] == [0, 0]


def dvc_lock_alone() -> None:
    """As after `dvc pull` in a fresh clone: dvc.lock knows the stages, no receipt does."""

    def side(values: Any) -> list[dict[str, Any]]:
        return [{"path": path, "md5": digest} for path, digest in values.items()]

    stages = {}
    for one in filter(read_receipt, read_dag().stages.values()):
        record = present(one, Digests())
        sides = {"deps": side(record.deps), "outs": side(record.outs)}
        stages[one.name] = {"cmd": record.cmd, "params": dict(record.params), **sides}
    Path("dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}), "utf-8")
    shutil.rmtree(".vouch")


def test_responses_with_a_record_are_taken_over(
    prepared: Project, loads: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """By their receipts, then by dvc.lock."""
    for dataset in DATASETS:
        extract(dataset)
    before = responses()
    for forget in (lambda: None, dvc_lock_alone):
        forget()
        shutil.rmtree(".vouch/work", ignore_errors=True)
        loads.clear()
        assert warm(capsys) == [
            f"warm: tiny {name}: {ITEMS[name]} copied from its responses, 0 asked, {ITEMS[name]} known before"
            for name in DATASETS
        ]
    prepared.params["extract"]["workers"] = 3  # the stages are stale now, the answers are not
    prepared.save()
    assert [extract(dataset) for dataset in DATASETS] == [0, 0] and loads == []
    assert responses() == before


def other_prompts(project: Project) -> None:
    project.params["datasets"]["quiz"]["settings"]["seed"] += 1
    project.save()
    stage("prepare", "quiz")
    stage("vary", "quiz")


def other_pin(project: Project) -> None:
    moved = save_llava(project.path / "moved", seed=1)
    project.entry["source"]["path"] = str(moved)
    project.save()
    stage("pin", MODEL)


def other_settings(project: Project) -> None:
    project.params["extract"]["batch"] = 3
    project.save()


def other_letters(project: Project) -> None:
    path = RESPONSES[LETTERS].path(MODEL, "quiz")
    path.write_bytes(path.read_bytes().replace(b"q", b"p", 1))


def no_record(project: Project) -> None:
    receipt_path(read_dag()[f"extract@{MODEL}-quiz"]).unlink()


def gone(project: Project) -> None:
    RESPONSES[OUTPUTS[-1]].path(MODEL, "quiz").unlink()


@pytest.mark.parametrize("change", [other_prompts, other_pin, other_settings, other_letters, no_record, gone])
def test_responses_of_anything_else_are_not_believed(
    prepared: Project, capsys: pytest.CaptureFixture[str], change: Callable[[Project], None]
) -> None:
    extract("quiz")
    change(prepared)
    shutil.rmtree(".vouch/work")
    (_, line) = warm(capsys)
    assert line.endswith("5 asked, 0 known before") and "copied" not in line
    assert ("left alone (no record" in line) == (change is not gone)


def test_responses_of_another_revision_are_left_alone(
    prepared: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    extract("quiz")
    kind = ENGINES["transformers"]
    monkeypatch.setitem(ENGINES, "transformers", replace(kind, revision=kind.revision + 1))
    assert "left alone (data/responses/quiz/tiny.letters.parquet: not the answers" in warm(capsys)[1]


def test_missing_and_stale_inputs_are_one_line(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    def refused() -> str:
        capsys.readouterr()
        assert main(["store", "warm", MODEL]) == 1
        out, error = capsys.readouterr()
        assert out == "" and error.count("\n") == 1 and error.startswith("vouch: ")
        return error

    assert "not there or not up to date" in refused()
    for dataset in DATASETS:
        stage("prepare", dataset)
    stage("pin", MODEL)
    error = refused()
    assert "data/prompts/other.parquet" in error and "run `dvc repro pin@tiny prepare@other" in error
    for dataset in DATASETS:
        stage("rewrite", dataset)
        stage("vary", dataset)
    project.params["datasets"]["other"]["settings"]["seed"] += 1
    project.save()
    assert "data/defects/other.parquet" in refused()
    assert main(["store", "warm", "tinny"]) == 1 and "did you mean tiny" in capsys.readouterr().err


def said(capsys: pytest.CaptureFixture[str], count: str, *more: str) -> tuple[int, str]:
    capsys.readouterr()
    status = main(["store", "verify", "--recompute", count, *more])
    out, err = capsys.readouterr()
    return status, (out + err).splitlines()[-1]


def test_the_same_machine_gives_the_same_answers(
    prepared: Project, loads: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Repo.init(no_scm=True).close()
    assert said(capsys, "4") == (
        1,
        "vouch: --recompute: no answers of a model that runs here; `dvc pull` fetches them with their inputs",
    )
    assert [extract(dataset) for dataset in DATASETS] == [3, 5]
    loads.clear()
    assert said(capsys, "4") == (0, "verify: 4 answers computed again (seed 0); all are the same")
    assert said(capsys, "99") == (0, "verify: 8 answers computed again (seed 0); all are the same")
    assert said(capsys, "4", "--seed", "7")[1].startswith("verify: 4 answers computed again (seed 7); ")
    assert loads == [MODEL] * 3
    assert said(capsys, "-1")[0] == 1


def requests_of(project: Project) -> DatasetRequests:
    session = Session(read_pin(pin_path(MODEL)), ExtractConfig.model_validate(project.params["extract"]))
    return DatasetRequests(session, "quiz")


def test_a_seed_draws_the_same_answers(prepared: Project) -> None:
    extract("quiz")
    dataset = requests_of(prepared)
    keys = [[key for _, key, _ in draw([dataset], 2, seed)[0][1]] for seed in (0, 0, *range(1, 9))]
    assert keys[0] == keys[1] and any(other != keys[0] for other in keys)


def test_answers_of_a_model_that_thinks(project: Project) -> None:
    project.ask(*quiz(4, outputs=(LETTERS, TEXT)))
    project.params["extract"]["max_tokens"] = 24
    project.pin()
    project.extract()
    closes = ending([row["text"] for row in project.rows(TEXT)])
    project.entry["reasoning"] = {"tokens": 24, "closes": closes}
    project.pin()
    project.extract()
    ((dataset, drawn),) = draw([requests_of(project)], 8, 0)
    assert any(answer["reasoning"] for _, _, answer in drawn)
    found = list(recompute(dataset, drawn))
    assert len(found) == 8 and not any(one.distance for one in found)


def test_how_far_others_are(prepared: Project) -> None:
    extract("quiz")
    ((dataset, drawn),) = draw([requests_of(prepared)], 1, 0)
    ((output, key, stored),) = drawn

    def against(**changes: Any) -> Recomputed:
        (found,) = recompute(dataset, [(output, key, stored | changes)])
        return found

    logits = stored["logits"]
    best = max(range(len(logits)), key=logits.__getitem__)
    assert not against().distance and not against(device="cuda", mode="plain").distance
    near = against(logits=[value + 0.5 for value in logits])
    assert near.distance == pytest.approx(0.5) and not near.moved
    other = [value - 100 * (place == best) for place, value in enumerate(logits)]
    assert against(logits=other).moved and against(logits=other).distance == pytest.approx(100)
    assert against(pixels="others").distance == math.inf
    assert f"by {MODEL} ({stored['device']}, now " in near.where
