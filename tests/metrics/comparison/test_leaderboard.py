"""Ranks and what intervals leave of them, dimensions, and published numbers beside ours.

Who has no rank: by letters that nobody said, by texts that nobody can read.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from vouch.metrics.comparison.leaderboard import dimensions, leaderboard, reproduced
from vouch.metrics.unranked import comparable, unranked, unranked_in
from vouch.pipeline.errors import UserError
from vouch.tables.results import DIMENSIONS, METRICS, PUBLISHED


def metric(model: str, value: float, reach: float | None = None, **changes: Any) -> dict[str, Any]:
    row = {"model": model, "dataset": "d", "variation": "original", "output": "letters", "protocol": "clean"}
    row |= {"category": "all", "calibration": "", "score": "", "metric": "accuracy", "items": 10}
    ends = {} if reach is None else {"low": value - reach, "high": value + reach}
    return row | {"value": value} | ends | changes


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("accuracy", {"a": (0.5, 0.02), "b": (0.7, 0.05), "c": (0.62, 0.05)}, {"b": (1, 1, 2), "c": (2, 1, 2), "a": (3, 3, 3)}),
        ("ece", {"a": (0.5, 0.1), "b": (2.0, 0.1), "c": (1.95, 0.1)}, {"a": (1, 1, 1), "c": (2, 2, 3), "b": (3, 2, 3)}),
        # intervals over splits say nothing of ranks
        ("set_size", {"a": (1.5, 0.1), "b": (3.0, 0.1), "c": (2.95, 0.1)}, {"a": (1, None, None), "c": (2, None, None), "b": (3, None, None)}),
        ("accuracy", {"a": (0.5,), "b": (0.5,), "c": (0.4,)}, {"a": (1, None, None), "b": (1, None, None), "c": (3, None, None)}),
        ("accuracy", {"a": (0.9,), "b": (0.5, 0.1), "c": (0.2, 0.1)}, {"a": (1, None, None), "b": (2, 1, 2), "c": (3, 2, 3)}),
        ("none_rate", {"a": (0.1,)}, {"a": (None, None, None)}),
        ("accuracy", {"a": (0.5, 0.1)}, {"a": (1, 1, 1)}),
    ],
    ids=["higher is better", "lower is better", "of sets", "equals share a rank", "no interval", "neither better", "alone"],
)  # fmt: skip
def test_ranks_and_what_intervals_leave_of_them(
    name: str, values: dict[str, tuple[float, ...]], expected: dict[str, tuple[int | None, ...]]
) -> None:
    rows = [metric(model, *numbers, metric=name) for model, numbers in values.items()]
    table = leaderboard(pa.Table.from_pylist(rows, schema=METRICS.schema)).to_pylist()
    found = {row["model"]: (row["rank"], row["rank_low"], row["rank_high"]) for row in table}
    assert found == expected


def test_nothing_has_no_rank() -> None:
    assert leaderboard(METRICS.schema.empty_table()).num_rows == 0


def test_places_are_ranked_apart() -> None:
    rows = [
        metric(model, value, dataset=dataset, protocol=protocol)
        for dataset, protocol, model, value in (
            ("d", "clean", "a", 0.5),
            ("d", "clean", "b", 0.6),
            ("d", "faithful", "a", 0.6),
            ("d", "faithful", "b", 0.5),
            ("e", "clean", "a", 0.1),
        )
    ]
    table = leaderboard(pa.Table.from_pylist(rows, schema=METRICS.schema)).to_pylist()
    assert [(row["dataset"], row["protocol"], row["model"], row["rank"]) for row in table] == [
        *(("d", "clean", "b", 1), ("d", "clean", "a", 2), ("d", "faithful", "a", 1)),
        *(("d", "faithful", "b", 2), ("e", "clean", "a", 1)),
    ]


CATEGORIES = {"flowers": ["coarse"], "cifar": ["coarse"], "text": ["scene"], "mixed": ["coarse", "other"]}


def metrics(*cells: tuple[str, str, float], **changes: Any) -> list[dict[str, Any]]:
    place = {"variation": "tests", "output": "text", "protocol": "clean", "category": "all", "score": ""}
    return [
        place | {"model": model, "dataset": dataset, "metric": "accuracy", "value": value} | changes
        for model, dataset, value in cells
    ]


def found(rows: list[dict[str, Any]], score: str = "") -> dict[tuple[str, str], tuple[float, float, int]]:
    """By dimension and model: value, rank, parts."""
    made = dimensions(pa.Table.from_pylist(rows, METRICS.schema), CATEGORIES)
    assert pa.Table.from_pylist(made, DIMENSIONS.schema).num_rows == len(made)
    own = [row for row in made if row["score"] == score]
    return {(row["dimension"], row["model"]): (row["value"], row["rank"], row["parts"]) for row in own}


BOTH = (
    *(("a", "flowers", 0.5), ("a", "cifar", 0.75), ("a", "text", 0.25)),
    *(("b", "flowers", 0.25), ("b", "cifar", 0.5), ("b", "text", 0.5)),
    *(("c", "flowers", 0.5), ("c", "cifar", 0.75), ("c", "text", 0.75)),
)


def test_captions_are_a_dimension_by_their_cider() -> None:
    """BLIP-2 in table 1 of the paper, whose mean of generation is 62.94: seven accuracies and CIDEr."""
    accuracies = (0.694, 0.766, 0.381, 0.432, 0.733, 0.618, 0.669)
    sets = {f"set{place}": [f"dimension{place}"] for place in range(7)} | {"captions": ["description"]}
    cells = [("a", f"set{place}", value) for place, value in enumerate(accuracies)]
    rows = metrics(*cells) + metrics(("a", "captions", 0.743), ("a", "set0", 0.9), metric="cider_d")
    made = dimensions(pa.Table.from_pylist(rows, METRICS.schema), sets)
    (overall,) = [row for row in made if row["dimension"] == "overall"]
    assert (overall["value"], overall["parts"]) == (pytest.approx(0.6294, abs=0.0002), 8)


def test_means_of_datasets_and_of_ranks() -> None:
    """Of greedy texts, and apart from them of samples, which not every model has."""
    drawn = (("a", "flowers", 0.125), ("a", "cifar", 0.375), ("a", "text", 0.75), ("c", "flowers", 0.5))
    every = metrics(*BOTH) + metrics(*drawn, score="first_t0.2")
    assert found(every, "first_t0.2") == {
        ("coarse", "a"): (0.25, 1, 2), ("scene", "a"): (0.75, 1, 1), ("overall", "a"): (0.5, 1, 2)
    }  # fmt: skip
    rows = found(every)
    assert rows["coarse", "a"] == (0.625, 1, 2)
    assert rows["coarse", "c"] == (0.625, 1, 2)
    assert rows["coarse", "b"] == (0.375, 3, 2)
    assert rows["scene", "b"] == (0.5, 2, 1)
    assert rows["overall", "a"] == (pytest.approx(0.4375), 2.0, 2)
    assert rows["overall", "b"] == (pytest.approx(0.4375), 2.5, 2)
    assert rows["overall", "c"] == (pytest.approx(0.6875), 1.0, 2)


def test_a_model_that_lacks_a_dataset_is_not_ranked_in_its_dimension() -> None:
    rows = found(metrics(*BOTH[:-2], BOTH[-1]))
    assert ("coarse", "c") not in rows
    assert ("overall", "c") not in rows
    assert rows["scene", "c"] == (0.75, 1, 1)
    assert rows["coarse", "b"][1] == 2


def test_parts_of_a_dataset_count_in_their_category_and_the_whole_in_none() -> None:
    rows = metrics(("a", "flowers", 0.5), ("a", "cifar", 0.75), ("a", "mixed", 0.9))
    rows += metrics(("a", "mixed", 0.25), category="coarse") + metrics(("a", "mixed", 1.0), category="other")
    assert found(rows)["coarse", "a"] == (0.5, 1, 3)
    assert found(rows)["other", "a"] == (1.0, 1, 1)


def test_read_outs_and_readings_stand_apart() -> None:
    rows = metrics(("a", "text", 0.5)) + metrics(("a", "text", 0.25), output="likelihood")
    rows += metrics(("a", "text", 0.75), protocol="faithful") + metrics(("a", "text", 0.9), metric="ece")
    made = dimensions(pa.Table.from_pylist(rows, METRICS.schema), CATEGORIES)
    assert [(row["output"], row["protocol"], row["value"]) for row in made] == [
        ("likelihood", "clean", 0.25),
        ("text", "clean", 0.5),
        ("text", "faithful", 0.75),
    ]


def published(*rows: tuple[str, str, float]) -> dict[str, pa.Table]:
    found = [{"model": m, "name": m.upper(), "metric": metric, "value": v} for m, metric, v in rows]
    return {"d": pa.Table.from_pylist(found, schema=PUBLISHED.schema)}


def ours(*rows: dict[str, Any]) -> pa.Table:
    base = {"model": "a", "dataset": "d", "variation": "original", "category": "all", "score": "", "items": 9}
    base |= {"output": "letters", "calibration": ""}
    return pa.Table.from_pylist([base | row for row in rows], schema=METRICS.schema)


def test_both_readings_stand_beside_the_published_number() -> None:
    metrics = ours(
        {"protocol": "faithful", "metric": "accuracy", "value": 0.7},
        {"protocol": "clean", "metric": "accuracy", "value": 0.6, "low": 0.5, "high": 0.65},
        {"protocol": "faithful", "metric": "accuracy", "value": 0.1, "category": "colour"},
        {"protocol": "faithful", "metric": "accuracy", "value": 0.2, "variation": "blurred"},
    )
    (row,) = reproduced(published(("a", "acc", 0.75)), metrics)
    assert row.pop("difference") == pytest.approx(-0.05)
    expected = {"dataset": "d", "model": "a", "name": "A", "metric": "acc", "published": 0.75, "ours": 0.7}
    assert row == expected | {"clean": 0.6, "clean_low": 0.5, "clean_high": 0.65}


def test_scores_are_significant() -> None:
    metrics = ours(
        *(
            {"protocol": "faithful", "metric": "coverage", "score": s, "value": v}
            for s, v in (("lac", 0.8), ("aps", 0.9), ("mean", 0.85))
        )
    )
    names = [("a", "coverage_all_APS", 0.9), ("a", "coverage_all_LAC", 0.8), ("a", "coverage", 0.85)]
    rows = reproduced(published(*names), metrics)
    assert [row["metric"] for row in rows] == ["coverage", "coverage_all_LAC", "coverage_all_APS"]
    assert all(row["difference"] == 0 and row["clean"] is None for row in rows)


def test_models_without_scores_are_left_out_and_missing_numbers_are_null() -> None:
    metrics = ours({"protocol": "faithful", "metric": "accuracy", "value": 0.7})
    rows = reproduced(published(("a", "E_ratio", 0.1), ("b", "acc", 0.2)), metrics)
    assert [(row["model"], row["ours"], row["difference"]) for row in rows] == [("a", None, None)]


def test_an_unknown_metric_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"unknown metric accc; did you mean acc"):
        reproduced(published(("a", "accc", 0.1)), ours())


def test_nothing_published() -> None:
    assert reproduced({}, ours()) == []
    assert reproduced({"d": PUBLISHED.schema.empty_table()}, ours()) == []


def row(value: float, **changes: Any) -> dict[str, Any]:
    found = {"model": "m", "dataset": "d", "variation": "original", "output": "letters", "protocol": "clean"}
    return (
        found
        | {"category": "all", "metric": "low_mass_rate", "score": "", "value": value, "low": None}
        | changes
    )


def text(value: float, **changes: Any) -> dict[str, Any]:
    return row(value, output="text", metric="undecided_rate") | changes


def test_a_majority_of_the_original_prompts_without_a_letter() -> None:
    assert unranked([row(0.51)]) == {("m", "d", "letters")}
    assert not unranked([row(0.5)])
    for changes in (
        {"category": "big"},
        {"protocol": "faithful"},
        {"metric": "letter_mass"},
        {"output": "text"},
    ):
        assert not unranked([row(0.9, **changes)])
    assert not unranked([row(0.9, variation="blank"), row(0.1)])
    assert unranked([row(0.9), row(0.1, variation="blank"), row(0.0, model="n")]) == {("m", "d", "letters")}
    # Without original prompts the first variation stands for them, as in the report's headlines.
    assert unranked([row(0.1, variation="tests"), row(0.9, variation="labels")]) == {("m", "d", "letters")}


def test_more_than_a_tenth_of_undecided_texts() -> None:
    assert unranked([text(0.11)]) == {("m", "d", "text")}
    assert not unranked([text(0.1)])
    assert not unranked([text(0.9, metric="refusal_rate")])
    assert unranked([text(0.2), row(0.1)]) == {("m", "d", "text")}


def test_what_a_judge_may_have_read_wrongly_counts_as_undecided() -> None:
    judged = [text(0.06), text(0.2, metric="judged_rate")]
    assert unranked(judged) == {("m", "d", "text")}, "six and twenty of a hundred"
    proof = [
        text(0.95, metric=f"judge_{name}", score="options", low=0.81)  # six and a fifth of twenty
        for name in ("sensitivity", "specificity")
    ]
    assert not unranked([*judged, *proof])
    assert unranked([*judged, proof[0]]) and unranked([*judged, proof[0], proof[1] | {"low": 0.79}])
    assert unranked([*judged, *(one | {"score": ""} for one in proof)]), "that is of open questions"
    assert unranked([text(0.11), *judged[1:], *proof]), "what nobody decided stays"


def test_only_the_rows_of_that_output_are_not_compared() -> None:
    rows = [row(0.9), text(0.05), row(0.9, model="n", dataset="e"), text(0.2, model="n")]
    table = pa.Table.from_pylist(rows, METRICS.schema)
    away = unranked_in(table)
    assert away == {("m", "d", "letters"), ("n", "e", "letters"), ("n", "d", "text")}
    assert comparable(table, away).tolist() == [False, True, False, False]
    assert comparable(table, ()).all() and comparable(table.slice(0, 0), away).dtype == np.bool_
