"""`vouch store verify --recompute`: stored answers asked for again, on the real stages of a small project."""

import math
from typing import Any

import pytest
from dvc.repo import Repo

from tests.cli.store.test_warm import DATASETS, extract, loads, prepared, project
from tests.models.project import MODEL, Project, quiz
from tests.models.requests.test_thinking import ending
from vouch.cli.main import main
from vouch.models.config import Config
from vouch.models.requests import DatasetRequests, Session
from vouch.models.responses import Recomputed, draw, recompute
from vouch.tables.answered import pin_path, read_pin
from vouch.tables.asked import LETTERS, TEXT

__all__ = ["loads", "prepared", "project"]  # fixtures


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
    session = Session(read_pin(pin_path(MODEL)), Config.model_validate(project.params["extract"]))
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
