"""`vouch store verify --recompute`: stored answers asked for again, on the real stages of a small project."""

import math
from typing import Any

import pytest
from dvc.repo import Repo

from tests.cli.store.test_warm import DATASETS, extract, loads, prepared, project
from tests.models.project import MODEL, Project
from vouch.cli.main import main
from vouch.models.requests.config import Config
from vouch.models.requests.dataset_requests import DatasetRequests, Session
from vouch.models.requests.recompute import Recomputed, draw, recompute
from vouch.tables.pins import pin_path, read_pin

__all__ = ["loads", "prepared", "project"]  # fixtures


def said(capsys: pytest.CaptureFixture[str], count: str) -> tuple[int, str]:
    capsys.readouterr()
    status = main(["store", "verify", "--recompute", count])
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
    assert said(capsys, "4") == (0, "verify: 4 answers computed again; all are the same")
    assert said(capsys, "99") == (0, "verify: 8 answers computed again; all are the same")
    assert loads == [MODEL, MODEL]
    assert said(capsys, "-1")[0] == 1


def test_how_far_others_are(prepared: Project) -> None:
    extract("quiz")
    session = Session(read_pin(pin_path(MODEL)), Config.model_validate(prepared.params["extract"]))
    ((dataset, drawn),) = draw([DatasetRequests(session, "quiz")], 1)
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
