"""The stage reads the scores that the DAG names and writes its tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stages.compare import main
from tests.metrics.simulated import CONFIG, project_run, replace_row, simulate, tables
from vouch.metrics.join import join
from vouch.metrics.label_free import option_scores
from vouch.metrics.tables import score_block
from vouch.pipeline.run import Run
from vouch.tables import embedded as e
from vouch.tables import results as r
from vouch.tables.asked import ITEMS, items_path
from vouch.tables.results import LABEL_FREE, METRICS, OUTCOMES

TABLES = (
    *((r.LEADERBOARD, r.LEADERBOARD_PATH), (r.DIFFERENCES, r.DIFFERENCES_PATH)),
    *((r.REPRODUCED, r.REPRODUCED_PATH), (r.VARIATIONS, r.VARIATIONS_PATH)),
    *((r.DIMENSIONS, r.DIMENSIONS_PATH), (r.RANKINGS, r.RANKINGS_PATH), (r.RANKED, r.RANKED_PATH)),
    *((r.DISTANCES, r.DISTANCES_PATH), (r.TRENDS, r.TRENDS_PATH), (r.TRANSFER, r.TRANSFER_PATH)),
)
NO_OUTCOMES, NO_SCORES = OUTCOMES.schema.empty_table(), LABEL_FREE.schema.empty_table()


def written(name: str) -> list[dict[str, Any]]:
    """A written table, by its name in vouch/tables/results.py."""
    made: list[dict[str, Any]] = getattr(r, name).read(getattr(r, f"{name}_PATH")).to_pylist()
    return made


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    found = project_run(tmp_path, monkeypatch, "compare")
    for dataset in ("left", "right"):
        ITEMS.write(items_path(dataset), [{"id": "a", "category": "sight"}])
        for kind in e.EMBEDDED:
            e.EMBEDDINGS.write(e.embeddings_path(dataset, kind), [])
    e.TEXT_SIMILARITY.write(e.TEXT_SIMILARITY_PATH, [])
    publish()
    for dataset in ("left", "right"):
        write(dataset)
    return found


def write(dataset: str, *scores: tuple[list[dict[str, Any]], pa.Table, pa.Table]) -> None:
    """The scores of models on a dataset: rows of METRICS, OUTCOMES and LABEL_FREE of each."""
    METRICS.write(r.metrics_path(dataset), [row for rows, *_ in scores for row in rows])
    OUTCOMES.write(r.outcomes_path(dataset), pa.concat_tables([NO_OUTCOMES, *(each[1] for each in scores)]))
    LABEL_FREE.write(r.label_free_path(dataset), pa.concat_tables([NO_SCORES, *(each[2] for each in scores)]))


def score(*seeds: int, unanswered: Sequence[int] = ()) -> None:
    """Scores of tiny_a, tiny_b on the dataset `left`, of the last without an answer in some rows."""
    scores = []
    for place, (model, seed) in enumerate(zip(("tiny_a", "tiny_b"), seeds, strict=False), start=1):
        letters, prompts, items = tables(simulate(seed, 80, copies=2))
        for row in unanswered if place == len(seeds) else ():
            letters = replace_row(letters, row, {"logits": None, "problem": "no answer"})
        (block,) = join(letters, prompts, items, "here")
        rows, outcomes = score_block(model, "left", block, CONFIG)
        scores.append((rows, outcomes, option_scores(model, "left", block, outcomes)))
    write("left", *scores)


def publish(*rows: dict[str, object]) -> None:
    r.PUBLISHED.write(r.published_path("left"), rows)
    r.PUBLISHED.write(r.published_path("right"), [])


def test_scores_become_standings_differences_and_reproduced(run: Run) -> None:
    score(0, 1)
    publish({"model": "tiny_b", "name": "Tiny-B", "metric": "acc", "value": 0.5})
    main(run)
    accuracy = [
        row for row in written("LEADERBOARD") if row["metric"] == "accuracy" and row["protocol"] == "clean"
    ]
    assert [row["rank"] for row in accuracy] == [1, 2]
    (pair,) = written("DIFFERENCES")
    by_model = {row["model"]: row["value"] for row in accuracy}
    assert pair["difference"] == pytest.approx(by_model[pair["first"]] - by_model[pair["second"]])
    (cell,) = written("REPRODUCED")
    assert (cell["name"], cell["clean"]) == ("Tiny-B", by_model["tiny_b"])
    sight = [row for row in written("DIMENSIONS") if row["protocol"] == "clean"]
    assert {row["model"]: row["value"] for row in sight} == by_model
    assert {row["dimension"] for row in sight} == {"sight"}
    ranked = [row for row in written("RANKED") if row["ranker"] == "confidence"]
    assert {row["model"]: row["performance"] for row in ranked} == pytest.approx(by_model)
    assert {row["ranker"] for row in written("RANKINGS")} == {
        *("confidence", "entropy", "entropy_top", "gap", "combined", "few_labels")
    }
    for dataset, count in (("left", 3), ("right", 4)):
        row = {"items": 1, "encoder": "one", "embedding": [1.0, 2.0]}
        e.EMBEDDINGS.write(
            e.embeddings_path(dataset, e.IMAGES), [row | {"digest": str(n)} for n in range(count)]
        )
    main(run)
    (apart,) = written("DISTANCES")
    assert (apart["of"], apart["items"], apart["other_items"], apart["distance"]) == (e.IMAGES, 3, 4, 0)
    before = [path.read_bytes() for _, path in TABLES]
    main(run)
    assert [path.read_bytes() for _, path in TABLES] == before


def test_a_variation_is_held_against_the_original(run: Run) -> None:
    rows, outcomes = [], []
    for variation, seed in (("original", 0), ("vr_b", 1)):
        (block,) = join(*tables(simulate(seed, 80, copies=2), variation), "here")
        found = score_block("tiny_a", "left", block, CONFIG)
        rows += found[0]
        outcomes.append(found[1])
    write("left", (rows, pa.concat_tables(outcomes), NO_SCORES))
    main(run)
    accuracy, *rest = written("VARIATIONS")
    clean = {
        row["variation"]: row["value"]
        for row in rows
        if (row["metric"], row["protocol"], row["category"]) == ("accuracy", "clean", "all")
    }
    assert accuracy["original"] == pytest.approx(clean["original"])
    assert accuracy["value"] == pytest.approx(clean["vr_b"])
    assert accuracy["low"] < accuracy["difference"] < accuracy["high"]
    assert {(row["model"], row["items"]) for row in rest} == {("tiny_a", 80)}


def test_one_model_and_no_scores_at_all(run: Run) -> None:
    score(0)
    main(run)
    assert written("DIFFERENCES") == []
    assert {row["rank"] for row in written("LEADERBOARD")} == {1, None}
    score()
    main(run)
    assert not any(table.read(path).num_rows for table, path in TABLES)


def test_a_model_that_never_answered_stands_alone(run: Run) -> None:
    publish({"model": "tiny_b", "name": "Tiny-B", "metric": "acc", "value": 0.5})
    score(0, 1, unanswered=range(80))
    main(run)
    assert written("DIFFERENCES") == []
    (cell,) = written("REPRODUCED")
    assert (cell["ours"], cell["clean"]) == (None, None)
