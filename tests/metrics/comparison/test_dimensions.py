"""Dimension scores and mean ranks by hand."""

from typing import Any

import pyarrow as pa
import pytest

from vouch.metrics.comparison.leaderboard import dimensions
from vouch.tables.results import DIMENSIONS, METRICS

CATEGORIES = {"flowers": ["coarse"], "cifar": ["coarse"], "text": ["scene"], "mixed": ["coarse", "other"]}


def metrics(*cells: tuple[str, str, float], **changes: Any) -> list[dict[str, Any]]:
    place = {"variation": "tests", "output": "text", "protocol": "clean", "category": "all", "score": ""}
    return [
        place | {"model": model, "dataset": dataset, "metric": "accuracy", "value": value} | changes
        for model, dataset, value in cells
    ]


def found(rows: list[dict[str, Any]]) -> dict[tuple[str, str], tuple[float, float, int]]:
    """By dimension and model: value, rank, parts."""
    made = dimensions(pa.Table.from_pylist(rows, METRICS.schema), CATEGORIES)
    assert pa.Table.from_pylist(made, DIMENSIONS.schema).num_rows == len(made)
    return {(row["dimension"], row["model"]): (row["value"], row["rank"], row["parts"]) for row in made}


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
    """Of greedy texts: what rests on samples has a score, and figures of its own."""
    rows = found(metrics(*BOTH) + metrics(("a", "flowers", 0.125), score="first_t0.2"))
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
