"""Paired differences and variations against plain computations of the same numbers."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from vouch.metrics.comparison.leaderboard import MEASURES, differences, uncalibrated, variations
from vouch.metrics.comparison.statistics import holm, intervals
from vouch.metrics.intervals import some
from vouch.tables.results import METRICS, OUTCOMES


def outcomes(correct: dict[str, np.ndarray], copies: int = 1, **changes: Any) -> pa.Table:
    """A row per model and prompt; NaN is a row that the clean protocol drops, -1 one that is not there."""
    count = len(next(iter(correct.values())))
    columns: dict[str, list[Any]] = {"model": [], "prompt": [], "group": [], "clean_correct": []}
    for model, values in correct.items():
        there = np.flatnonzero(values != -1)
        columns["model"] += [model] * len(there)
        columns["prompt"] += [f"{i}/original" for i in there]
        columns["group"] += [f"g{i // copies}" for i in there]
        columns["clean_correct"] += [None if np.isnan(values[i]) else float(values[i]) for i in there]
    rows = len(columns["model"])
    columns |= {"dataset": ["d"] * rows, "variation": ["original"] * rows, "output": ["letters"] * rows}
    columns |= {name: [value] * rows for name, value in changes.items()}
    assert count
    kept = [field for field in OUTCOMES.schema if field.name in columns]
    return pa.table({f.name: pa.array(columns[f.name], f.type) for f in kept})


def draws(seed: int, models: int, count: int, copies: int = 1) -> dict[str, np.ndarray]:
    random = np.random.RandomState(seed)
    hard = np.repeat(random.rand(count // copies), copies)
    return {
        f"m{m:02d}": (hard < 0.3 + 0.5 * m / models).astype(float) * (random.rand(count) < 0.9)
        for m in range(models)
    }


def test_differences_follow_their_definition() -> None:
    copies, count = 3, 300
    correct = draws(0, 3, count, copies)
    rows = differences(outcomes(correct, copies), 42, 2000)
    assert [(row["first"], row["second"]) for row in rows] == [("m00", "m01"), ("m00", "m02"), ("m01", "m02")]
    for row in rows:
        gap = correct[row["first"]] - correct[row["second"]]
        assert row["difference"] == pytest.approx(gap.mean(), abs=1e-12)
        assert row["items"] == count
        sums = (gap - gap.mean()).reshape(-1, copies).sum(axis=1)
        clusters = count // copies
        error = math.sqrt(clusters / (clusters - 1) * (sums**2).sum()) / count
        assert row["p"] == pytest.approx(2 * stats.t.sf(abs(gap.mean()) / error, clusters - 1), rel=1e-9)
        assert (row["low"], row["high"]) == pytest.approx(
            (gap.mean() - 1.96 * error, gap.mean() + 1.96 * error), abs=0.2 * error
        )


def test_pairs_rest_on_the_prompts_that_both_models_have() -> None:
    first = np.array([1, 0, 1, 1, np.nan, 1, 0, -1])
    second = np.array([0, 0, 1, np.nan, np.nan, 0, -1, 1])
    (row,) = differences(outcomes({"a": first, "b": second}), 0, 100)
    assert row["items"] == 4
    assert row["difference"] == pytest.approx(2 / 4)
    assert differences(outcomes({"a": np.array([1, -1.0]), "b": np.array([-1, 0.0])}), 0, 10) == []


def test_equal_models_do_not_differ() -> None:
    values = draws(2, 1, 50)["m00"]
    (row,) = differences(outcomes({"a": values, "b": values}), 0, 100)
    assert (row["difference"], row["p"], row["p_holm"]) == (0, 1, 1)
    bound = 1 - 0.025 ** (1 / 50)
    assert (row["low"], row["high"]) == pytest.approx((-bound, bound)), "up to 7 % may differ unseen"


@pytest.mark.parametrize(
    ("gaps", "size", "most", "expected"),
    [
        # no group differs: Clopper and Pearson's bound on those that might, in either direction
        ([0] * 2, 1, 1, (-0.8419, 0.8419)),
        ([0] * 30, 1, 1, (-0.1157, 0.1157)),
        ([0] * 300, 1, 1, (-0.0122, 0.0122)),
        ([0] * 30, 4, 1, (-0.1157, 0.1157)),  # 30 groups of four are 30 observations
        # all differ alike
        ([1] * 30, 1, 1, (0.7686, 1)),
        ([-1] * 30, 1, 1, (-1, -0.7686)),
        ([1] * 5, 1, 1, (-0.0437, 1)),  # five signs alike have p = .0625
        ([0.2] * 30, 1, 1, (0.0611, 0.2926)),
        # few differ, which are too few to resample
        ([1] + [0] * 29, 1, 1, (-0.0862, 0.1452)),
        ([1] * 3 + [0] * 27, 1, 1, (-0.0273, 0.2333)),
        ([1] * 5 + [0] * 295, 1, 1, (0, 0.0333)),
        ([1] * 29 + [0], 1, 1, (0.739, 1)),
        ([1, -1] + [0] * 28, 1, 1, (-0.1157, 0.1157)),
        # gaps that have one sign, and gaps without a largest one
        ([0] * 30, 1, (0, 1), (0, 0.1157)),
        ([1] * 30, 1, (0, 1), (0.8843, 1)),
        ([0] * 30, 1, math.inf, (None, None)),
        ([2] * 30, 1, math.inf, (None, None)),
        ([0], 9, 1, (None, None)),
    ],
)
def test_few_that_differ_give_an_interval_that_has_a_width(
    gaps: list[float], size: int, most: Any, expected: tuple[float | None, float | None]
) -> None:
    sums, counts = np.array(gaps)[:, None] * float(size), np.full((len(gaps), 1), float(size))
    ends = most if isinstance(most, tuple) else (-most, most)
    low, high = (some(end[0]) for end in intervals(sums, counts, 0, 1000, *ends))
    assert (low, high) == (pytest.approx(expected, abs=0.0002) if expected[0] is not None else expected)


def test_intervals_of_few_that_differ_hold_the_truth() -> None:
    """In 95 of 100 samples or more, where resampling alone holds it in 66 to 86."""
    for count, discordant, gap in ((30, 0.05, 0.02), (100, 0.02, 0.01), (300, 0.01, 0.005)):
        fate = np.random.default_rng(0).random((count, 400))
        wins = (fate < (discordant + gap) / 2).astype(float)
        losses = (fate > 1 - (discordant - gap) / 2).astype(float)
        low, high = intervals(wins - losses, np.ones((count, 400)), 0, 1000, -1, 1)
        assert np.mean((low <= gap) & (gap <= high)) >= 0.95


def test_shares_of_ties_count_in_full_precision() -> None:
    (row,) = differences(outcomes({"a": np.array([1 / 3, 1.0]), "b": np.array([1 / 7, 0.5])}), 0, 10)
    assert row["difference"] == pytest.approx((1 / 3 - 1 / 7 + 0.5) / 2, abs=1e-15)


def test_one_group_gives_no_interval() -> None:
    (row,) = differences(outcomes({"a": np.array([1.0, 1.0]), "b": np.array([1.0, 0.0])}, copies=2), 0, 10)
    assert row["difference"] == 0.5
    assert (row["low"], row["high"], row["p"], row["p_holm"]) == (None, None, None, None)


def test_a_few_questions_are_no_proof() -> None:
    first, second = np.ones(15), np.ones(15)
    second[:5] = 0
    (row,) = differences(outcomes({"a": first, "b": second}), 0, 50)
    assert row["p"] == 2.0**-4, "McNemar's exact test says the same"
    second[5] = 0
    first[6] = 0
    (row,) = differences(outcomes({"a": first, "b": second}), 0, 50)
    assert row["p"] > 2.0**-6, "six against one"


def test_one_model_other_variations_and_nothing() -> None:
    assert differences(outcomes({"a": np.ones(5)}), 0, 10) == []
    assert differences(outcomes({"a": np.ones(5), "b": np.ones(5)}, variation="blurred"), 0, 10) == []
    assert differences(OUTCOMES.schema.empty_table(), 0, 10) == []


def test_same_seed_same_rows() -> None:
    table = outcomes(draws(4, 5, 200, 2), 2)
    turned = table.take(np.arange(table.num_rows)[::-1])
    assert differences(table, 7, 300) == differences(turned, 7, 300)
    assert differences(table, 7, 300) != differences(table, 8, 300)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, None, 0.005]) == pytest.approx([0.03, 0.06, 0.06, None, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


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
    plain, hurt = answers(0, 120, 0.8), answers(1, 120, 0.5)
    plain["clean_correct"][0] = hurt["clean_correct"][1] = np.nan  # dropped by the clean protocol
    hurt["clean_size_lac"][2] = np.nan  # never a test item
    few = {name: values[:115] for name, values in hurt.items()}
    found = by_metric(variations(table({("m", "original"): plain, ("m", "blur"): few}), 0, 10))
    assert {key: row["items"] for key, row in found.items()} == {
        ("accuracy", ""): 113,
        ("confidence", ""): 113,
        ("set_size", "lac"): 112,
        ("set_size", "aps"): 113,
        ("flipped", ""): 113,
    }
    kept = list(range(2, 115))
    assert found["accuracy", ""]["value"] == pytest.approx(hurt["clean_correct"][kept].mean())
    assert found["accuracy", ""]["original"] == pytest.approx(plain["clean_correct"][kept].mean())


@pytest.mark.parametrize(
    ("asked", "infinite", "compared"),
    [
        (120, [], True),
        (100, [], True),
        (99, [], False),  # the thresholds would differ because one rests on fewer questions
        (120, ["blur"], False),  # every set holds all options
        (120, ["original"], False),
        (120, ["other"], True),
    ],
)
def test_set_sizes_are_compared_under_comparable_thresholds(
    asked: int, infinite: list[str], compared: bool
) -> None:
    plain, hurt = answers(0, 120, 0.8), answers(1, 120, 0.5)
    both = {("m", "original"): plain, ("m", "blur"): {name: each[:asked] for name, each in hurt.items()}}
    without = [("m", "d", "letters", name) for name in infinite]
    found = by_metric(variations(table(both), 0, 10, without))
    assert (("set_size", "lac") in found, ("set_size", "aps") in found) == (compared, compared)
    assert found["accuracy", ""]["items"] == asked


def test_thresholds_that_are_infinite_in_some_split_are_known() -> None:
    row = dict.fromkeys(METRICS.schema.names) | {
        **{"model": "m", "dataset": "d", "output": "letters", "variation": "blank", "protocol": "clean"},
        **{"category": "all", "calibration": "marginal", "alpha": 0.1, "score": "", "items": 10},
        **{"metric": "infinite_threshold_rate", "value": 0.25},
    }
    others = [{"value": 0.0}, {"alpha": 0.2}, {"category": "colour"}, {"calibration": "category"}]
    others += [{"protocol": "faithful"}, {"metric": "ece"}]
    rows = [row, *({**row, "variation": f"v{i}", **each} for i, each in enumerate(others))]
    metrics = pa.Table.from_pylist(rows, METRICS.schema)
    assert uncalibrated(metrics, 0.1) == {("m", "d", "letters", "blank")}


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
