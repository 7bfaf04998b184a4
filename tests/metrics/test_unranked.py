"""Who has no rank: by letters that nobody said, by texts that nobody can read."""

from typing import Any

import numpy as np
import pyarrow as pa

from vouch.metrics.unranked import comparable, unranked, unranked_in
from vouch.tables.results import METRICS


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
