"""Published numbers find their counterpart in both protocols."""

from typing import Any

import pyarrow as pa
import pytest

from vouch.metrics.comparison.leaderboard import NAMES, reproduced
from vouch.pipeline.errors import UserError
from vouch.tables.results import METRICS, PUBLISHED


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
    assert row == {
        "dataset": "d",
        "model": "a",
        "name": "A",
        "metric": "acc",
        "published": 0.75,
        "ours": 0.7,
        "clean": 0.6,
        "clean_low": 0.5,
        "clean_high": 0.65,
    }


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


def test_every_published_name_means_one_score_and_metric() -> None:
    assert len(set(NAMES.values())) == len(NAMES) == 14
    for name, (score, metric) in NAMES.items():
        assert name.endswith(f"_{score.upper()}") == (score in ("lac", "aps"))
        of_sets = next((m for m in ("coverage", "set_size", "uacc") if name.startswith(m)), None)
        assert metric == of_sets if of_sets else score == ""


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
