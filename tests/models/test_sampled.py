"""Sampled texts from the model to what ranks models: extract, score, embed, and the scores that compare reads."""

import math
from pathlib import Path

import numpy as np
import pytest

from tests.models.encoders.models import pin, save_bert
from tests.models.project import DATASET, Project, quiz
from vouch.metrics.comparison.ranking import tasks, with_similarity
from vouch.models.config import Config
from vouch.tables.answered import pin_path, write_pin
from vouch.tables.asked import ITEMS, TEXT, items_path
from vouch.tables.names import SAMPLES, SIMILARITIES
from vouch.tables.results import (
    LABEL_FREE,
    METRICS,
    TEXT_SIMILARITY,
    TEXT_SIMILARITY_PATH,
    label_free_path,
    metrics_path,
)

SAMPLED, HOT = "t0.2", "t5"


def ask(project: Project) -> None:
    prompts, images = quiz(12, outputs=[TEXT])
    for name, own in ((DATASET, prompts), ("other", [])):
        project.ask(own, images, name)
        every = {"kind": "choice", "answers": [0], "category": ""}
        rows = [{"id": row["item"], "group": row["item"]} | every for row in own]
        ITEMS.write(items_path(name), rows)
        project.extract(name)


def test_samples_become_metrics_signals_and_rankers(project: Project, tmp_path: Path) -> None:
    """Samples of one and the same prompt are the control of instability: the hotter, the more it varies."""
    project.params["extract"]["sampling"] = [
        {"temperature": 0.2, "samples": 3},
        {"temperature": 5, "samples": 3},
    ]
    write_pin(pin_path("bert"), pin("bert", save_bert(tmp_path / "bert")))
    ask(project)
    project.stage("score", DATASET)
    found = {
        (row["score"], row["metric"]): row
        for row in METRICS.read(metrics_path(DATASET)).to_pylist()
        if row["protocol"] == "clean" and row["category"] == "all"
    }
    calm, wild = (found[score, "instability"]["value"] for score in (SAMPLED, HOT))
    assert 0 <= calm < wild <= math.log(3)
    assert found[SAMPLED, "agreement"]["value"] > found[HOT, "agreement"]["value"]
    assert found[SAMPLED, "instability"]["items"] == 12

    project.params["embed"]["texts"] = {"encoder": "data/models/bert.json", "device": "cpu"}
    project.stage("embed")
    similarity = TEXT_SIMILARITY.read(TEXT_SIMILARITY_PATH)
    assert similarity.num_rows == 24
    (own,) = tasks(with_similarity(LABEL_FREE.read(label_free_path(DATASET)), similarity))
    greedy, *sampled = own
    assert [task.score for task in own] == ["", SAMPLED, HOT]
    assert not set(greedy.label_free) & {*SAMPLES, *SIMILARITIES}
    for task in sampled:
        assert not any(np.isnan(task.label_free[name]).any() for name in (*SAMPLES, *SIMILARITIES))
    means = [[task.label_free[name].mean() for task in sampled] for name in (*SAMPLES, *SIMILARITIES)]
    assert all(first > second for first, second in means), "cooler samples are more like the greedy text"


def test_entries_of_one_temperature_draw_of_different_prompts() -> None:
    one = {"temperature": 1, "samples": 2}
    apart = [one | {"datasets": ["a"], "models": ["m"]}, one | {"datasets": ["b"]}]
    assert [len(Config.model_validate({"sampling": apart}).sampled("m", name)) for name in "ab"] == [1, 1]
    for meeting in ({}, {"datasets": ["b", "a"]}, {"models": ["m"]}, {"variations": ["original"]}):
        with pytest.raises(ValueError, match="the same prompts twice at temperature 1; let one entry"):
            Config.model_validate({"sampling": [apart[0], one | meeting]})
