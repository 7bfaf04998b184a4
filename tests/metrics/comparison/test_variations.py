"""The cost of a variation against a plain computation of the same thing."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from vouch.metrics.comparison.leaderboard import MEASURES, variations
from vouch.tables.results import OUTCOMES

Values = dict[str, np.ndarray]
KEEPING = [measure for measure in MEASURES if measure[0] != "not_flipped"]


def answers(seed: int, count: int, right: float) -> Values:
    """What an outcomes table says of `count` items."""
    random = np.random.RandomState(seed)
    return {
        "clean_correct": random.choice([0, 1 / 3, 1], count, p=[1 - right, 0.1, right - 0.1]),
        "confidence": random.rand(count),
        "clean_size_lac": random.randint(10, 60, count) / 10,
        "clean_size_aps": random.randint(10, 60, count) / 10,
        "chosen": random.randint(-2, 4, count),
    }


def table(found: dict[tuple[str, str], Values], copies: int = 1, dataset: str = "d") -> pa.Table:
    """Outcomes of (model, variation); NaN is null."""
    rows: list[dict[str, Any]] = []
    for (model, variation), values in found.items():
        for at in range(len(values["chosen"])):
            row = {
                "model": model,
                "dataset": dataset,
                "variation": variation,
                "item": f"q{at}",
                "output": "letters",
            }
            row |= {"prompt": f"q{at}/{variation}", "group": f"g{at // copies}"}
            rows.append(row | {name: None if np.isnan(v[at]) else v[at].item() for name, v in values.items()})
    return pa.Table.from_pylist(rows, OUTCOMES.schema)


def by_metric(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["metric"], row["score"]): row for row in rows}


def test_costs_follow_their_definition() -> None:
    copies, count = 3, 300
    plain, hurt = answers(0, count, 0.8), answers(1, count, 0.5)
    found = by_metric(variations(table({("m", "original"): plain, ("m", "blur"): hurt}, copies), 42, 2000))
    assert len(found) == len(KEEPING)
    for metric, score, column in KEEPING:
        column = "chosen" if metric == "flipped" else column
        row = found[metric, score]
        value, original = (side[column].astype(float) for side in (hurt, plain))
        if metric == "flipped":
            value, original = (value != original).astype(float), np.zeros(count)
        gap = value - original
        assert (row["dataset"], row["model"], row["variation"], row["items"]) == ("d", "m", "blur", count)
        assert row["value"] == pytest.approx(value.mean(), abs=1e-7)
        assert row["original"] == pytest.approx(original.mean(), abs=1e-7)
        assert row["difference"] == pytest.approx(gap.mean(), abs=1e-7)
        sums = (gap - gap.mean()).reshape(-1, copies).sum(axis=1)
        error = np.sqrt((sums**2).sum()) / count
        ends = (gap.mean() - 1.96 * error, gap.mean() + 1.96 * error)
        assert (row["low"], row["high"]) == pytest.approx(ends, abs=0.2 * error)


def test_only_items_with_both_prompts_count() -> None:
    plain, hurt = answers(0, 6, 0.8), answers(1, 6, 0.5)
    plain["clean_correct"][0] = hurt["clean_correct"][1] = np.nan  # dropped by the clean protocol
    hurt["clean_size_lac"][2] = np.nan  # never a test item
    few = {name: values[:5] for name, values in hurt.items()}
    found = by_metric(variations(table({("m", "original"): plain, ("m", "blur"): few}), 0, 10))
    assert {key: row["items"] for key, row in found.items()} == {
        ("accuracy", ""): 3,
        ("confidence", ""): 3,
        ("set_size", "lac"): 2,
        ("set_size", "aps"): 3,
        ("flipped", ""): 3,
    }
    kept = [2, 3, 4]
    assert found["accuracy", ""]["value"] == pytest.approx(hurt["clean_correct"][kept].mean())
    assert found["accuracy", ""]["original"] == pytest.approx(plain["clean_correct"][kept].mean())


def test_an_answer_in_another_place_is_no_flip() -> None:
    plain = answers(0, 40, 0.8)
    (row,) = [
        row
        for row in variations(table({("m", "original"): plain, ("m", "option_order"): plain}), 0, 50)
        if row["metric"] == "flipped"
    ]
    assert (row["value"], row["original"], row["low"]) == (0, 0, 0)
    assert row["high"] == pytest.approx(1 - 0.025 ** (1 / 40)), "up to 9 % may flip unseen"


def test_where_answers_turn_another_option_is_no_flip() -> None:
    plain = answers(0, 6, 0.8) | {"chosen": np.array([0.0, 1, 2, 3, 0, 1])}
    plain["clean_correct"] = np.array([1.0, 1, 1, 1, 0, 1 / 3])
    turned = answers(1, 6, 0.5) | {"chosen": np.array([0.0, 2, 3, 3, 0, 1])}
    outcomes = table({("m", "original"): plain, ("m", "ls_n"): turned})
    effects = ["kept" if name == "original" else "complement" for name in outcomes["variation"].to_pylist()]
    place = outcomes.schema.get_field_index("effect")
    found = by_metric(variations(outcomes.set_column(place, "effect", pa.array(effects)), 0, 50))
    assert ("flipped", "") not in found
    row = found["not_flipped", ""]
    assert (row["value"], row["original"], row["items"]) == (0.5, 0, 4)


def test_every_model_dataset_and_variation_has_its_rows_in_order() -> None:
    found = {(m, v): answers(7, 8, 0.6) for m in ("b", "a") for v in ("z", "original", "y")}
    both = pa.concat_tables([table(found, dataset=name) for name in ("right", "left")])
    rows = list(variations(both, 0, 10))
    places = [(row["dataset"], row["model"], row["variation"]) for row in rows][:: len(KEEPING)]
    assert places == sorted((d, m, v) for d in ("left", "right") for m in ("a", "b") for v in ("y", "z"))
    shuffled = both.take(np.random.RandomState(0).permutation(both.num_rows))
    assert list(variations(shuffled, 0, 10)) == rows


def test_one_group_has_no_interval_and_no_variation_no_row() -> None:
    plain, hurt = answers(0, 3, 0.8), answers(1, 3, 0.5)
    rows = list(variations(table({("m", "original"): plain, ("m", "blur"): hurt}, copies=3), 0, 10))
    assert {(row["low"], row["high"]) for row in rows} == {(None, None)}
    assert list(variations(table({("m", "original"): plain}), 0, 10)) == []
    assert list(variations(table({("m", "blur"): hurt}), 0, 10)) == []
    assert list(variations(OUTCOMES.schema.empty_table(), 0, 10)) == []
