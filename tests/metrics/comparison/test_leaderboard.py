"""Ranks, and what the intervals leave of them."""

from typing import Any

import pyarrow as pa

from vouch.metrics.comparison.leaderboard import leaderboard
from vouch.tables.results import METRICS


def metric(model: str, value: float, reach: float | None = None, **changes: Any) -> dict[str, Any]:
    row = {
        "model": model,
        "dataset": "d",
        "variation": "original",
        "output": "letters",
        "protocol": "clean",
        "category": "all",
        "calibration": "",
        "score": "",
        "metric": "accuracy",
        "value": value,
        "low": None if reach is None else value - reach,
        "high": None if reach is None else value + reach,
        "items": 10,
    }
    return row | changes


def ranks(*rows: dict[str, Any]) -> dict[str, tuple[int | None, ...]]:
    table = leaderboard(pa.Table.from_pylist(list(rows), schema=METRICS.schema)).to_pylist()
    return {row["model"]: (row["rank"], row["rank_low"], row["rank_high"]) for row in table}


def test_more_accuracy_ranks_first_and_intervals_blur_it() -> None:
    found = ranks(metric("a", 0.5, 0.02), metric("b", 0.7, 0.05), metric("c", 0.62, 0.05))
    assert found == {"b": (1, 1, 2), "c": (2, 1, 2), "a": (3, 3, 3)}


def test_less_set_size_ranks_first_and_intervals_over_splits_say_nothing_of_ranks() -> None:
    rows = [metric(m, v, 0.1, metric="set_size") for m, v in (("a", 1.5), ("b", 3.0), ("c", 2.95))]
    assert ranks(*rows) == {"a": (1, None, None), "c": (2, None, None), "b": (3, None, None)}
    rows = [metric(m, v, 0.1, metric="ece") for m, v in (("a", 0.5), ("b", 2.0), ("c", 1.95))]
    assert ranks(*rows) == {"a": (1, 1, 1), "c": (2, 2, 3), "b": (3, 2, 3)}


def test_equal_values_share_the_better_rank() -> None:
    assert {m: r[0] for m, r in ranks(metric("a", 0.5), metric("b", 0.5), metric("c", 0.4)).items()} == {
        "a": 1,
        "b": 1,
        "c": 3,
    }


def test_without_interval_there_is_no_span_of_ranks() -> None:
    found = ranks(metric("a", 0.9), metric("b", 0.5, 0.1), metric("c", 0.2, 0.1))
    assert found == {"a": (1, None, None), "b": (2, 1, 2), "c": (3, 2, 3)}


def test_what_is_neither_good_nor_bad_has_no_rank() -> None:
    assert ranks(metric("a", 0.1, metric="none_rate")) == {"a": (None, None, None)}


def test_one_model_and_none() -> None:
    assert ranks(metric("a", 0.5, 0.1)) == {"a": (1, 1, 1)}
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
        ("d", "clean", "b", 1),
        ("d", "clean", "a", 2),
        ("d", "faithful", "a", 1),
        ("d", "faithful", "b", 2),
        ("e", "clean", "a", 1),
    ]
