"""The stage reads and writes tables where dvc.yaml says, with its own parameters."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from stages.score import SCORED, main
from tests.checkouts.small import small
from tests.metrics.simulated import CONFIG, ROOT, project_run, replace_row, simulate, tables
from vouch.metrics.calibration import softmax
from vouch.metrics.join import join
from vouch.metrics.responses import Responses
from vouch.metrics.tables import score_block
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load
from vouch.tables.answered import LETTERS, RESPONSES, Pin, Source, letters_path, pin_path, write_pin
from vouch.tables.asked import ITEMS, PROMPTS, items_path, prompts_path
from vouch.tables.results import LABEL_FREE, METRICS, OUTCOMES, label_free_path, metrics_path, outcomes_path
from vouch.tables.table import Table

DATASETS = ("left", "right")
Score = Callable[[], dict[str, Any]]
"""Scores both datasets; what the stages noted."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Score:
    runs = [
        project_run(tmp_path, monkeypatch, "score", name, profile=small(train=["tiny_a"]))
        for name in DATASETS
    ]
    for dataset in DATASETS:
        for output in ("likelihood", "text"):
            RESPONSES[output].table.write(RESPONSES[output].path("tiny_a", dataset), [])
    give("left", simulate(0, 60))
    give("right", simulate(1, 40))

    def score() -> dict[str, Any]:
        for each in runs:
            main(each)
        return {each.stage: each.notes for each in runs if each.notes}

    return score


def metrics() -> pa.Table:
    return pa.concat_tables(METRICS.read(metrics_path(dataset)) for dataset in DATASETS)


def outcomes() -> pa.Table:
    return pa.concat_tables(OUTCOMES.read(outcomes_path(dataset)) for dataset in DATASETS)


def fill(table: Table, path: Path, found: pa.Table) -> None:
    table.write(path, found.to_pylist())


def give(dataset: str, responses: Responses, **changes: Any) -> None:
    letters, prompts, items = tables(responses, **changes)
    fill(LETTERS, letters_path("tiny_a", dataset), letters)
    fill(PROMPTS, prompts_path(dataset), prompts)
    fill(ITEMS, items_path(dataset), items)


def test_every_dataset_is_scored_in_both_protocols_and_has_a_row_for_each_prompt(run: Score) -> None:
    broken = simulate(0, 60, copies=2)
    broken.defective[:3] = True
    give("left", broken, categories=("colour", "shape", ""))
    give("right", simulate(1, 40, 5))
    run()
    found = metrics()
    assert set(found["dataset"].to_pylist()) == {"left", "right"}
    assert set(found["protocol"].to_pylist()) == {"faithful", "clean"}
    left = found.filter(pc.equal(found["dataset"], "left"))
    assert set(left["category"].to_pylist()) == {"all", "colour", "shape"}
    sizes = left.filter(pc.and_(pc.equal(left["metric"], "set_size"), pc.equal(left["category"], "all")))
    assert sorted(sizes["score"].to_pylist()) == ["aps", "aps", "lac", "lac", "mean", "mean"]
    for name in ("value", "low", "high"):
        assert np.isfinite(found[name].drop_null().to_numpy()).all()
    keys = found.select(["dataset", "variation", "protocol", "category", "score", "metric"]).to_pylist()
    assert len({tuple(key.values()) for key in keys}) == len(keys)

    rows = outcomes().to_pylist()
    assert [row["prompt"] for row in rows] == [f"{i}/original" for i in (*range(60), *range(40))]
    left = rows[:60]
    assert sum(row["half"] == "test" for row in left) == 30
    for row, logits, answers in zip(left, broken.logits, broken.answers, strict=True):
        p = np.exp(logits.astype(float)) / np.exp(logits.astype(float)).sum()
        assert row["predicted"] == logits.argmax()
        assert row["correct"] == answers[logits.argmax()]
        assert row["confidence"] == pytest.approx(p.max())
        assert row["entropy"] == pytest.approx(-(p * np.log(p)).sum())
        testing = row["half"] == "test"
        assert all(
            (row[f"{n}_{s}"] is not None) == testing for n in ("size", "covered") for s in ("lac", "aps")
        )
    assert [row["clean_correct"] is None for row in left] == [True] * 3 + [False] * 57
    assert all(row["clean_size_lac"] is None for row in left[:3])
    assert all(1 <= row["clean_size_aps"] <= 6 for row in left[4:] if row["clean_size_aps"] is not None)


def test_same_tables_same_bytes(run: Score) -> None:
    run()
    before = [path("left").read_bytes() for path in (metrics_path, outcomes_path)]
    shutil.rmtree(SCORED)
    run()
    assert [path("left").read_bytes() for path in (metrics_path, outcomes_path)] == before


def test_a_refusal_names_the_file_and_the_prompt_and_writes_nothing(run: Score) -> None:
    letters, _, _ = tables(simulate(1, 40))
    nan = replace_row(letters, 7, {"logits": [float("nan")] * 6})
    fill(LETTERS, letters_path("tiny_a", "right"), nan)
    with pytest.raises(UserError, match=r"data/responses/right/tiny_a\.letters\.parquet: prompt 7/original"):
        run()
    assert metrics_path("left").exists() and not metrics_path("right").exists()


def test_letters_are_scored_in_the_other_spelling_if_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Score
) -> None:
    """As the authors of a study read ` A` where the chat template has `A`; a prompt without them is refused."""
    run()
    before = metrics_path("left").read_bytes()
    letters, _, _ = tables(simulate(0, 60))
    swapped = {"logits": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]}
    worse = [{**row, **swapped, "other_logits": row["logits"]} for row in letters.to_pylist()]
    LETTERS.write(letters_path("tiny_a", "left"), worse)
    run()
    assert metrics_path("left").read_bytes() != before
    score = load(ROOT / "profiles/small.yaml")["score"] | {"other_spelling": ["tiny_a"]}
    asked = small(train=["tiny_a"], score=score)
    one = project_run(tmp_path, monkeypatch, "score", "left", profile=asked)
    main(one)
    assert metrics_path("left").read_bytes() == before
    LETTERS.write(letters_path("tiny_a", "left"), [*worse[:-1], worse[-1] | {"other_logits": None}])
    with pytest.raises(UserError, match=r"prompt 59/original has no letters in the other spelling; leave"):
        main(one)


def test_metrics_of_answers_are_refused_where_no_question_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Score
) -> None:
    """The file of a dataset with lines of one's own may hold both kinds, so its entry does not tell."""
    score = load(ROOT / "profiles/small.yaml")["score"] | {"answers": {"left": ["rouge_l", "bleu_1"]}}
    one = project_run(tmp_path, monkeypatch, "score", "left", profile=small(train=["tiny_a"], score=score))
    with pytest.raises(
        UserError, match=r"params\.yaml: score\.answers\.left: all questions of left have options"
    ):
        main(one)
    items = ITEMS.read(items_path("left")).to_pylist()
    ITEMS.write(items_path("left"), [items[0] | {"kind": "text"}, *items[1:]])
    main(one)


def test_stated_likelihoods_are_scored_as_letters_and_not_as_texts(run: Score) -> None:
    """The softmax of the letters, written out by the model, gives the same sets; nothing is left of the text."""
    run()
    before = {row["metric"]: row["value"] for row in METRICS.read(metrics_path("left")).to_pylist()}
    responses = simulate(0, 60)
    _, prompts, _ = tables(responses, outputs=("text",))
    asked = [
        row | {"template": "azad_ai2d_likelihoods", "labels": list("ABCDEF")} for row in prompts.to_pylist()
    ]
    shares = softmax(responses.logits.astype(np.float64))
    texts = [
        {"prompt": row["id"], "temperature": 0.0, "sample": 0, "logprobs": [], "entropies": [],
         "text": "\n".join(f"{label}: {share:.9f}" for label, share in zip("ABCDEF", p, strict=True))}
        for row, p in zip(asked, shares.tolist(), strict=True)
    ]  # fmt: skip
    LETTERS.write(letters_path("tiny_a", "left"), [])
    PROMPTS.write(prompts_path("left"), asked)
    RESPONSES["text"].table.write(RESPONSES["text"].path("tiny_a", "left"), texts)
    run()
    rows = METRICS.read(metrics_path("left")).to_pylist()
    assert {row["output"] for row in rows} == {"letters"}
    after = {row["metric"]: row["value"] for row in rows}
    for metric in ("accuracy", "ece", "set_size", "coverage", "nll"):
        assert after[metric] == pytest.approx(before[metric], abs=1e-5), metric


def give_unanswered(
    dataset: str, responses: Responses, unanswered: list[int], categories: tuple[str, ...]
) -> None:
    """Like `give`, with rows that have no answer."""
    give(dataset, responses, categories=categories)
    letters = LETTERS.read(letters_path("tiny_a", dataset))
    for row in unanswered:
        letters = replace_row(letters, row, {"logits": None, "problem": "no answer in 60 s"})
    fill(LETTERS, letters_path("tiny_a", dataset), letters)


def figures(dataset: str, metric: str) -> dict[tuple[str, str], tuple[float, int, bool]]:
    """By protocol and category: value, rows behind it, whether it has an interval."""
    return {
        (row["protocol"], row["category"]): (row["value"], row["items"], row["low"] is not None)
        for row in metrics().to_pylist()
        if row["dataset"] == dataset and row["metric"] == metric
    }


def test_unanswered_prompts_are_counted_beside_every_other_metric(run: Score) -> None:
    broken = simulate(0, 60)
    broken.defective[:6] = True
    give_unanswered("left", broken, [0, 1, 7, 9, 11], ("a", "b"))
    noted = run()
    assert figures("left", "unanswered") == {
        ("faithful", "all"): (5 / 60, 60, False),
        ("faithful", "a"): (1 / 30, 30, False),
        ("faithful", "b"): (4 / 30, 30, False),
        ("clean", "all"): (3 / 54, 54, True),
        ("clean", "a"): (0, 27, True),
        ("clean", "b"): (3 / 27, 27, True),
    }
    assert figures("right", "unanswered") == {
        ("faithful", "all"): (0, 40, False),
        ("clean", "all"): (0, 40, True),
    }
    rows_of = figures("left", "tie_rate")
    assert (rows_of["faithful", "all"][1], rows_of["clean", "all"][1]) == (55, 51)
    assert noted == {"score@left": {"unanswered": {"tiny_a/original/letters": 5}}}
    rows = outcomes()
    assert rows.num_rows == 95 and "7/original" not in rows["prompt"].to_pylist()[:55]


def test_a_model_that_never_answered_has_no_other_metric(run: Score) -> None:
    """One dead server must not hide the scores of other datasets, so it is no error."""
    give_unanswered("left", simulate(0, 20), list(range(20)), ("a", "b"))
    run()
    rows = [row for row in metrics().to_pylist() if row["dataset"] == "left"]
    assert {row["metric"] for row in rows} == {"unanswered"} and {row["value"] for row in rows} == {1}
    assert len(rows) == 6
    assert outcomes().num_rows == 40


def test_a_model_that_was_not_asked_has_no_scores_but_one_half_answered_is_refused(run: Score) -> None:
    for dataset in ("left", "right"):
        give(dataset, simulate(0, 6))
        fill(LETTERS, letters_path("tiny_a", dataset), LETTERS.schema.empty_table())
    run()
    assert metrics().num_rows == outcomes().num_rows == 0
    text = {"prompt": "0/original", "temperature": 0.0, "sample": 0, "text": "red"}
    RESPONSES["text"].table.write(RESPONSES["text"].path("tiny_a", "left"), [text])
    with pytest.raises(UserError, match="was asked but has no row"):
        run()
    pin = Pin(model="tiny_a", engine="released", source=Source(kind="released", path="x"), files={})
    write_pin(pin_path("tiny_a"), pin)
    run()
    assert not metrics().filter(pc.equal(metrics()["output"], "letters")).num_rows


@pytest.mark.parametrize(
    ("order", "logits", "chosen"),
    [
        ([0, 1, 2, -1, -2], [0, 3, 1, 0, 0], 1),
        ([2, 1, 0, -1, -2], [0, 1, 3, 0, 0], 0),
        ([2, 1, 0, -1, -2], [3, 1, 3, 0, 0], 0),  # a tie of 2 and 0
        ([0, 1, 2, -1, -2], [3, 1, 3, 3, 0], 0),
        ([2, 1, 0, -1, -2], [1, 1, 0, 3, 3], -2),
        ([2, 1, 0, -1, -2], [1, 1, 3, 3, 0], 0),
    ],
)
def test_what_was_chosen_does_not_hang_on_the_order(order: list[int], logits: list[int], chosen: int) -> None:
    responses = simulate(0, 2, 5)
    responses.roles[:] = order
    responses.logits[:] = logits
    (block,) = join(*tables(responses), "here")
    _, outcomes = score_block("m", "d", block, CONFIG)
    assert outcomes["chosen"].to_pylist() == [chosen] * 2


def test_variations_of_the_same_questions_are_compared(run: Score) -> None:
    base = simulate(0, 80, step=1e-6)
    sides = [tables(base), tables(simulate(1, 80, step=1e-6), "blank")]
    fill(LETTERS, letters_path("tiny_a", "left"), pa.concat_tables([side[0] for side in sides]))
    fill(PROMPTS, prompts_path("left"), pa.concat_tables([side[1] for side in sides]))
    fill(ITEMS, items_path("left"), sides[0][2])
    run()
    rows = metrics().to_pylist()
    found = {row["metric"]: row for row in rows if row["variation"] == "blank" and row["score"] == "lac"}
    assert {"shift_coverage", "shift_set_size", "threshold_drift", "shift_broken"} <= set(found)
    assert found["shift_coverage"]["value"] < 0.9 and found["shift_coverage"]["low"] is not None
    assert found["shift_broken"]["value"] in (0, 1) and found["shift_coverage"]["calibration"] == "marginal"
    assert not any(row["metric"].startswith("shift") for row in rows if row["variation"] == "original")


def test_answers_to_prompts_of_equal_meaning_are_a_label_free_score(run: Score) -> None:
    """Entropy 0 if both orders of the options get the same answer, log 2 if not; of original prompts alone."""
    base, other = simulate(0, 40, step=1e-6), simulate(1, 40, step=1e-6)
    other = replace(other, answers=base.answers)
    sides = [tables(base), tables(other, "option_order")]
    asked = [row | {"effect": "kept"} for side in sides for row in side[1].to_pylist()]
    fill(LETTERS, letters_path("tiny_a", "left"), pa.concat_tables([side[0] for side in sides]))
    PROMPTS.write(prompts_path("left"), asked)
    fill(ITEMS, items_path("left"), sides[0][2])
    run()
    rows = LABEL_FREE.read(label_free_path("left")).to_pylist()
    same = base.logits.argmax(axis=1) == other.logits.argmax(axis=1)
    assert 0 < same.sum() < 40 and len(rows) == 40
    found = {row["prompt"]: row["variation_entropy"] for row in rows}
    assert found == {
        f"{row}/original": pytest.approx(0 if alike else np.log(2)) for row, alike in enumerate(same)
    }
    assert {row["semantic_entropy"] for row in rows} == {None}


def test_what_is_known_is_not_scored_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second model leaves the first one's scores as they were; other answers do not; damage is noticed."""
    scored: list[str] = []

    def counting(model: str, *given: Any) -> Any:
        scored.append(model)
        return score_block(model, *given)

    monkeypatch.setattr("stages.score.score_block", counting)

    def score(*models: str) -> bytes:
        scored.clear()
        run = project_run(tmp_path, monkeypatch, "score", "left", profile=small(train=models))
        main(run)
        return metrics_path("left").read_bytes() + outcomes_path("left").read_bytes()

    letters, prompts, items = tables(simulate(0, 60))
    (tmp_path / "data").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path)
    fill(PROMPTS, prompts_path("left"), prompts)
    fill(ITEMS, items_path("left"), items)
    for model in ("tiny_a", "tiny_b"):
        for output in ("likelihood", "text"):
            RESPONSES[output].table.write(RESPONSES[output].path(model, "left"), [])
        fill(LETTERS, letters_path(model, "left"), letters)
    score("tiny_a")
    assert scored == ["tiny_a"]
    both = score("tiny_a", "tiny_b")
    assert scored == ["tiny_b"]
    assert score("tiny_a", "tiny_b") == both and not scored
    for kept in (SCORED / "left").iterdir():
        kept.write_bytes(kept.read_bytes()[:-1])
    assert score("tiny_a", "tiny_b") == both and scored == ["tiny_a", "tiny_b"]
    fill(LETTERS, letters_path("tiny_b", "left"), replace_row(letters, 3, {"logits": [0.0, 0, 0, 0, 0, 9]}))
    assert score("tiny_a", "tiny_b") != both and scored == ["tiny_b"]
    assert len(list((SCORED / "left").iterdir())) == 2, "what nothing asks for any more is removed"
