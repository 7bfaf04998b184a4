"""The blind baseline: accuracy beyond a guess, questions solved blind, accuracy without them, pairs apart."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from vouch.metrics.blind import (
    BLIND_GAIN,
    BLIND_RATE,
    UNSOLVED_ACCURACY,
    blind_in,
    blind_metrics,
    graded,
    solved_questions,
    unsolved_metrics,
)
from vouch.metrics.comparison.leaderboard import differences, leaderboard
from vouch.tables.asked import ITEMS
from vouch.tables.results import BLIND, METRICS, OUTCOMES, solved_blind


def items(images: Sequence[int], options: int = 4) -> pa.Table:
    rows = [
        {"id": f"q{n}", "options": ["x"] * options, "answers": [0], "images": ["d"] * shown}
        for n, shown in enumerate(images)
    ]
    return pa.Table.from_pylist(rows, schema=ITEMS.schema)


def answers(**grades: Sequence[float | None]) -> pa.Table:
    """Rows of OUTCOMES by letters, by model the grade of each question; None for an unanswered one."""
    rows = [
        {"model": model, "dataset": "d", "variation": "original", "output": "letters", "item": f"q{n}"}
        | {"prompt": f"q{n}/original", "group": f"g{n}", "clean_correct": grade}
        for model, of_model in grades.items()
        for n, grade in enumerate(of_model)
        if grade is not None
    ]
    return pa.Table.from_pylist(rows, schema=OUTCOMES.schema)


def metrics(*models: str, output: str = "letters") -> pa.Table:
    row = {"dataset": "d", "variation": "original", "output": output, "protocol": "clean", "category": "all"}
    row |= {"calibration": "", "score": "", "metric": "accuracy", "value": 0.5, "items": 4}
    return pa.Table.from_pylist([{"model": model} | row for model in models], schema=METRICS.schema)


def of_metric(table: pa.Table, metric: str) -> list[dict[str, Any]]:
    return [row for row in table.to_pylist() if row["metric"] == metric]


def test_accuracy_beyond_a_guess_is_accuracy_minus_chance_with_an_interval_over_groups() -> None:
    grades = [1.0] * 60 + [0.0] * 40
    found = blind_metrics(metrics("lm"), answers(lm=grades), items([1] * 100))
    (gain,) = of_metric(found, BLIND_GAIN)
    assert gain["value"] == pytest.approx(0.6 - 0.25) and gain["items"] == 100
    assert gain["low"] == pytest.approx(0.35 - 1.984 * 0.0492, abs=1e-3)
    assert {row["protocol"] for row in of_metric(found, BLIND_RATE)} == {"clean", "faithful"}
    assert blind_in(found) == {("lm", "d", "letters")}


@pytest.mark.parametrize(
    ("grades", "options", "value", "low"),
    [
        ([1.0] * 12, 4, 0.75, 0.75 - (1 - 0.025 ** (1 / 12))),  # all alike: the exact bound
        ([0.0] * 12, 4, -0.25, -0.25),
        ([1.0], 4, 0.75, None),  # one group
        ([0.5] * 12, 2, 0.0, 0.0),  # ties: no width, which no page shows
        ([1.0, 0.0] * 6, 0, 0.5, 0.5 - 2.201 * 0.1508),  # open questions: a guess answers none
    ],
)
def test_tiny_and_degenerate(grades: list[float], options: int, value: float, low: float | None) -> None:
    found = blind_metrics(metrics("lm"), answers(lm=grades), items([1] * len(grades), options))
    (gain,) = of_metric(found, BLIND_GAIN)
    assert gain["value"] == pytest.approx(value)
    assert gain["low"] == (None if low is None else pytest.approx(low, abs=1e-3))


def test_without_images_nobody_is_set_apart() -> None:
    asked, given = items([0, 0]), answers(lm=[1.0, 1.0], vlm=[1.0, 0.0])
    assert blind_metrics(metrics("lm"), given, asked).num_rows == 0
    solved = list(solved_questions(graded(given), asked, {"lm"}))
    assert solved == [] and unsolved_metrics(graded(given), solved, {"lm"}).num_rows == 0


def test_a_model_of_which_nothing_is_graded_is_still_marked() -> None:
    found = blind_metrics(metrics("lm"), answers(lm=[]), items([1, 0]))
    assert [row["value"] for row in of_metric(found, BLIND_RATE)] == [0.5, 0.5]
    assert of_metric(found, BLIND_GAIN) == [] and blind_in(found)


def test_solved_by_every_language_model_with_what_guessers_would_solve() -> None:
    given = answers(
        one=[1.0, 1.0, 0.5, None, 1.0], two=[1.0, 0.0, 1.0, 1.0, 1.0], vlm=[1.0, 1.0, 0.0, 1.0, 0.0]
    )
    asked = items([1, 1, 1, 1, 0])
    alone = list(solved_questions(graded(given), asked, {"one"}))
    assert [row["solved"] for row in alone] == [True, True, False, False]  # the last has no image
    assert {row["chance"] for row in alone} == {0.25}
    both = list(solved_questions(graded(given), asked, {"one", "two", "absent"}))
    assert [(row["models"], row["correct"], row["solved"]) for row in both] == [
        (2, 2, True),
        (2, 1, False),
        (2, 1, False),  # a tie of two options is no correct answer
        (2, 1, False),  # one of them left it unanswered
    ]
    assert {row["chance"] for row in both} == {0.0625}
    assert solved_blind(pa.Table.from_pylist(both, schema=BLIND.schema)) == {"q0"}
    (left,) = unsolved_metrics(graded(given), both, {"one", "two"}).to_pylist()
    assert (left["model"], left["metric"], left["items"]) == ("vlm", UNSOLVED_ACCURACY, 3)
    assert left["value"] == pytest.approx(2 / 3)  # without q4, which has no image


def test_flags_come_from_one_request_type() -> None:
    rows = [
        {"output": output, "item": item, "models": 1, "correct": 1, "solved": True, "chance": 0.25}
        for output, item in (("text", "q1"), ("letters", "q0"))
    ]
    table = pa.Table.from_pylist(rows, schema=BLIND.schema)
    assert solved_blind(table) == {"q0"} and solved_blind(table, "text") == {"q1"}
    assert solved_blind(BLIND.schema.empty_table()) == frozenset()


def test_if_all_questions_are_solved_blind_no_accuracy_is_left() -> None:
    given = answers(lm=[1.0, 1.0], vlm=[1.0, 0.0])
    solved = list(solved_questions(graded(given), items([1, 1]), {"lm"}))
    assert (
        all(row["solved"] for row in solved) and not unsolved_metrics(graded(given), solved, {"lm"}).num_rows
    )


def test_a_baseline_has_no_rank_and_changes_no_other_number() -> None:
    grades = {"ant": [1.0, 0.0] * 30, "bee": [1.0, 1.0, 0.0] * 20}
    text = [1.0, 0.0, 0.0, 0.0] * 20  # more questions than the others were asked
    place = ("lm", "d", "letters")
    ranked = leaderboard(metrics("ant", "bee", "lm"), {place}).to_pylist()
    assert {row["model"]: row["rank"] for row in ranked} == {"ant": 1, "bee": 1, "lm": None}
    alone = differences(answers(**grades), 1, 200)
    beside = differences(answers(**grades, lm=text), 1, 200, {place})
    assert beside[: len(alone)] == alone
    assert [(row["first"], row["second"], row["items"]) for row in beside[1:]] == [
        ("ant", "lm", 60),
        ("bee", "lm", 60),
    ]
    assert beside[1]["difference"] == pytest.approx(0.25)
    assert beside[0]["p_holm"] == beside[0]["p"] and beside[1]["p_holm"] >= beside[1]["p"]


def test_only_blind_models_are_compared_with_nobody() -> None:
    places = {(name, "d", "letters") for name in ("one", "two")}
    assert differences(answers(one=[1.0] * 40, two=[0.0] * 40), 1, 200, places) == []
