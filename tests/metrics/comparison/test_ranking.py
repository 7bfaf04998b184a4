"""Correlations against scipy's, p-values by counting, and rankings without labels on simulated and published data."""

from math import factorial, isnan
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from tests.metrics.simulated import ROOT
from vouch.metrics.comparison.config import CompareConfig
from vouch.metrics.comparison.rankers import (
    RANKERS,
)
from vouch.metrics.comparison.ranking import (
    few_labels,
    p_values,
    rankings,
    spearman,
    tasks,
    tau_as_printed,
    weighted_tau,
)
from vouch.tables import SAMPLES, TOKENS
from vouch.tables.results import LABEL_FREE

FEW = st.integers(2, 12).flatmap(
    lambda count: arrays(np.float64, (2, count), elements=st.integers(-3, 3).map(float))
)


def close(ours: float, theirs: float) -> bool:
    return (isnan(ours) and isnan(theirs)) or ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.filterwarnings("ignore:An input array is constant")
@given(FEW)
def test_scipy_agrees_ties_included(pair):
    assert close(float(spearman(*pair)), stats.spearmanr(*pair).statistic)
    assert close(float(weighted_tau(*pair)), stats.weightedtau(*pair).statistic)


@given(st.integers(2, 12).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.permutations(range(n)))))
def test_the_order_of_the_models_does_not_matter_and_turning_turns(pair):
    x, y = np.random.RandomState(0).randint(0, 5, (2, len(pair[0]))).astype(float)
    for measure in (spearman, weighted_tau):
        assert close(float(measure(x, y)), float(measure(x[list(pair[0])], y[list(pair[0])])))
    ranks = [np.array(one, dtype=float) for one in pair]
    assert spearman(-ranks[0], ranks[1]) == -spearman(*ranks)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1, 2, 3, np.nan], [1, 2, 3, 4]),
        ([1, 2, 3, 4], [np.nan, 2, 3, 4]),
        ([np.nan] * 3, [1, 2, 3]),
        ([np.nan, np.nan, 3], [1, 2, 3]),
        ([1, 1, 1, 1], [1, 2, 3, 4]),
        ([1], [1]),
    ],
)
def test_what_orders_nothing_or_is_unknown_is_nan(x, y):
    first, second = np.array(x, dtype=float), np.array(y, dtype=float)
    assert all(isnan(measure(first, second)) for measure in (spearman, weighted_tau))


def test_p_by_hand():
    # Of 24 orders of four, rho .8 or more: 1 with 1, 3 with .8; as many below -.8.
    p, least = p_values(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 4, 3]))
    assert (p, least) == pytest.approx((8 / 24, 2 / 24))
    p, least = p_values(np.array([1.0, 1, 1, 2]), np.array([1.0, 2, 3, 4]))
    assert (p, least) == pytest.approx((12 / 24, 12 / 24)), "one of four against three equals: 2 of 4 ends"


def test_p_of_many_models_is_scipys():
    x, y = np.random.RandomState(1).rand(2, 20)
    assert p_values(x, y)[0] == pytest.approx(stats.spearmanr(x, y).pvalue)
    assert p_values(x, x) == (2 / factorial(20),) * 2
    assert all(isnan(value) for value in p_values(x, np.ones(20)))


CONFIG = CompareConfig(seed=1, resamples=60, labels=20, draws=40)
MODELS = ("m0", "m1", "m2", "m3")


def text_rows(model: str, dataset: str, skill: float, seed: int = 0, count: int = 60) -> list[dict[str, Any]]:
    """Answers of a model that is right with probability `skill` and unsure of the rest."""
    random = np.random.RandomState(seed)
    rows = []
    for item in range(count):
        right = random.rand() < skill
        unsure = (0.2 if right else 1.0) + 0.3 * random.rand()
        row = {"model": model, "dataset": dataset, "prompt": f"{item}/original", "group": f"g{item // 2}"}
        row |= {"output": "text", "performance": float(right)}
        rows.append(row | dict.fromkeys(TOKENS, unsure))
        rows.append(row | {"temperature": 0.7} | dict.fromkeys(SAMPLES, 1 / (1 + unsure)))
    return rows


def letter_rows(
    model: str, dataset: str, skill: float, seed: int = 0, count: int = 60
) -> list[dict[str, Any]]:
    random = np.random.RandomState(seed)
    rows = []
    for item in range(count):
        right, p = random.rand() < skill, 0.9 * skill + 0.1 * random.rand()
        best = [p, *[(1 - p) / 3] * 3]
        row = {"model": model, "dataset": dataset, "prompt": f"{item}/original", "group": f"g{item}"}
        row |= {"output": "letters", "performance": float(right), "answers": [0 if right else 2]}
        rows.append(row | {"probabilities": best})
    return rows


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, LABEL_FREE.schema)


def skilled(make: Any, datasets: tuple[str, ...] = ("a", "b", "c")) -> list[dict[str, Any]]:
    return [
        row
        for number, dataset in enumerate(datasets)
        for place, model in enumerate(MODELS)
        for row in make(model, dataset, 0.3 + 0.2 * place, 10 * number + place)
    ]


@pytest.fixture(scope="module", params=[text_rows, letter_rows])
def every(request) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    rows = skilled(request.param)
    return rows, *rankings(table(rows), CONFIG, 0.5)


def test_surer_is_better_and_every_ranker_says_so(every):
    _, found, _ = every
    of_target = [row for row in found if row["ranker"] != "few_labels"]
    assert len(of_target) > 10
    for row in of_target:
        if row["rho"] is None:  # sets that are as large for all models
            assert row["ranker"] in ("set_size", "certainty")
            continue
        assert row["rho"] > 0.7 or row["ranker"] == "atc_literal", row
        assert row["tau_paper"] > 0 or row["ranker"] == "atc_literal"
        assert (row.get("p") is None) == (row["proxy"] == "mean")
        assert row["rho_low"] - 1e-9 <= row["rho"] <= row["rho_high"] + 1e-9 or abs(row["rho"]) == 1


def test_each_ranker_stands_for_each_dataset_and_each_proxy_for_itself(every):
    rows, found, values = every
    output = rows[0]["output"]
    names = {
        name
        for name, ranker in RANKERS.items()
        if not ranker.needs
        or set(ranker.needs) & ({*TOKENS, *SAMPLES} if output == "text" else {"probabilities"})
    }
    assert {row["ranker"] for row in found} == {*names, "combined", "few_labels"}
    with_proxies = [row for row in found if (row["dataset"], row["ranker"]) == ("b", "atc")]
    assert [row["proxy"] for row in with_proxies] == ["mean", "a", "c"]
    mean, *rest = with_proxies
    assert mean["rho"] == pytest.approx(np.mean([row["rho"] for row in rest]))
    scores = {row["score"] for row in found if row["ranker"] in SAMPLES}
    assert scores == ({"t0.7"} if output == "text" else set())
    for row in values:
        own = [r for r in rows if (r["model"], r["dataset"]) == (row["model"], row["dataset"])]
        truth = [r["performance"] for r in own if r.get("temperature") is None]
        assert row["performance"] == pytest.approx(np.mean(truth), abs=1e-9)


def test_values_are_means_ranks_and_scipys_correlations(every):
    rows, found, values = every
    name, raw = ("nll_avg", "nll_avg") if rows[0]["output"] == "text" else ("confidence", None)
    own = [row for row in values if (row["ranker"], row["dataset"]) == (name, "a")]
    for row in own:
        items = [
            r for r in rows if (r["model"], r["dataset"]) == (row["model"], "a") and not r.get("temperature")
        ]
        truth = np.mean([-r[raw] if raw else max(r["probabilities"]) for r in items])
        assert row["value"] == pytest.approx(truth, abs=1e-7)
    x, y = ([row[key] for row in own] for key in ("value", "performance"))
    (summary,) = [row for row in found if (row["ranker"], row["dataset"]) == (name, "a")]
    assert summary["rho"] == pytest.approx(stats.spearmanr(x, y).statistic)
    assert summary["tau"] == pytest.approx(stats.weightedtau(x, y).statistic)
    turned = [-v for v in x] if raw else x
    assert summary["tau_paper"] == pytest.approx(abs(stats.weightedtau(turned, y).statistic))
    assert summary["p_least"] == pytest.approx(2 / 24)
    assert [row["rank"] for row in own] == stats.rankdata([-v for v in x], "min").tolist()


def test_rho_and_tau_have_columns_of_their_own():
    sure, right = [0.9, 0.8, 0.7, 0.6], [2, 3, 1, 0]  # of four items
    rows = [
        {"model": model, "dataset": "a", "prompt": f"{i}", "group": f"{i}", "output": "letters"}
        | {"performance": float(i < right[m]), "answers": [0], "probabilities": [sure[m], 1 - sure[m]]}
        for m, model in enumerate(MODELS)
        for i in range(4)
    ]
    (row,) = (each for each in rankings(table(rows), CONFIG, 0.1)[0] if each["ranker"] == "confidence")
    assert row["rho"] == pytest.approx(stats.spearmanr(sure, right).statistic) == pytest.approx(0.8)
    assert (
        row["tau"] == pytest.approx(stats.weightedtau(sure, right).statistic) != pytest.approx(0.8, abs=0.1)
    )


def test_only_of_uncertainties_is_the_printed_tau_absolute() -> None:
    """Table 1 of Tu et al., whose caption names NLL and entropy: other scores keep their sign."""
    values, right = np.array([0.1, 0.4, 0.2, 0.7]), np.array([0.9, 0.3, 0.8, 0.5])
    tau = stats.weightedtau(values, right).statistic
    assert tau < 0 and tau_as_printed(values, right, False) == pytest.approx(tau)
    turned = abs(stats.weightedtau(-values, right).statistic)
    assert turned != pytest.approx(-tau) and tau_as_printed(values, right, True) == pytest.approx(turned)
    turned = stats.weightedtau(-values, -right).statistic
    assert turned < 0 and tau_as_printed(values, -right, True) == pytest.approx(-turned)
    rows = [row for place in range(4) for row in letter_rows(f"m{place}", "a", 0.2 + 0.2 * place, place)]
    rows += [row for place in range(4) for row in letter_rows(f"m{place}", "b", 0.8 - 0.2 * place, 9 + place)]
    found, _ = rankings(table(rows), CONFIG, 0.5)
    elsewhere = [row for row in found if row["ranker"] == "accuracy_on_the_line"]
    assert elsewhere and all(row["tau_paper"] < -0.7 for row in elsewhere)


def test_combined_is_the_mean_rank_of_the_rankers_without_a_proxy(every):
    _, _, values = every
    here = [row for row in values if row["dataset"] == "a" and not row["proxy"]]
    single = {}
    for row in here:
        if row["ranker"] != "combined":
            single.setdefault((row["ranker"], row["score"]), []).append(row["value"])
    truth = np.mean([stats.rankdata(v) for v in single.values()], axis=0) / 4
    assert [r["value"] for r in here if r["ranker"] == "combined"] == pytest.approx(truth)


@settings(max_examples=8, deadline=None)
@given(st.permutations(range(4)), st.integers(0, 99))
def test_the_order_of_rows_and_the_names_of_models_do_not_matter(names, seed):
    rows = skilled(text_rows, ("a", "b"))
    config = CompareConfig(seed=3, resamples=10, labels=10, draws=5)
    found, _ = rankings(table(rows), config, 0.1)
    other = dict(zip(MODELS, (MODELS[place] for place in names), strict=True))
    renamed = [row | {"model": other[row["model"]]} for row in rows]
    np.random.RandomState(seed).shuffle(renamed)
    again, _ = rankings(table(renamed), config, 0.1)
    for one, two in zip(found, again, strict=True):
        assert one == pytest.approx(two, abs=1e-9)


def test_performance_elsewhere_by_hand():
    # of four items, for four models, of which d lacks the last
    right = {
        "a": [1, 2, 3, 4],
        "b": [3, 2, 1, 0],
        "c": [0, 2, 3, 4],
        "d": [2, 1, 3],
        "of_texts": [1, 2, 3, 4],
    }
    rows = [
        {"model": f"m{m}", "dataset": d, "prompt": f"{i}", "group": f"{i}", "output": "letters"}
        | {"performance": float(i < right[d][m]), "answers": [0], "probabilities": [0.5, 0.5]}
        | ({"output": "text"} if d == "of_texts" else {})
        for d in right
        for m in range(len(right[d]))
        for i in range(4)
    ]
    found, values = rankings(table(rows), CONFIG, 0.1)
    rho, tau, models = (
        {
            row["proxy"]: row[name]
            for row in found
            if (row["dataset"], row["ranker"]) == ("a", "accuracy_on_the_line")
        }
        for name in ("rho", "tau_paper", "models")
    )
    assert rho == pytest.approx({"mean": 0.5 / 3, "b": -1.0, "c": 1.0, "d": 0.5})
    of_d = stats.weightedtau(right["d"], right["a"][:3]).statistic
    assert tau == pytest.approx({"mean": of_d / 3, "b": -1.0, "c": 1.0, "d": of_d}) and of_d != 0.5
    assert models == {"mean": 3, "b": 4, "c": 4, "d": 3}
    elsewhere = [
        row["value"]
        for row in values
        if (row["dataset"], row["ranker"], row["proxy"]) == ("a", "accuracy_on_the_line", "b")
    ]
    assert elsewhere == [0.75, 0.5, 0.25, 0.0]


def test_models_without_a_signal_are_left_out_of_it():
    rows = skilled(text_rows, ("a",))
    for row in rows:
        if row["model"] == "m1":
            row |= {name: None for name in TOKENS if name.startswith("ent_")}
        if row["model"] == "m2" and "temperature" in row:
            row |= dict.fromkeys(SAMPLES)
    found, values = rankings(table(rows), CONFIG, 0.1)
    models = {row["ranker"]: row["models"] for row in found}
    assert (models["nll_avg"], models["ent_avg"], models["agreement"], models["combined"]) == (4, 3, 3, 2)
    assert {row["model"] for row in values if row["ranker"] == "combined"} == {"m0", "m3"}


def test_equal_models_one_model_and_no_model_have_no_order():
    rows = [row for model in MODELS for row in text_rows(model, "a", 0.5)]
    found, _ = rankings(table(rows), CONFIG, 0.1)
    assert found and all(row["rho"] is None and row["p"] is None and row["rho_low"] is None for row in found)
    assert rankings(table(text_rows("m0", "a", 0.5)), CONFIG, 0.1) == ([], [])
    assert rankings(table([]), CONFIG, 0.1) == ([], [])


def test_the_mean_over_proxies_is_of_those_that_say_something():
    rows = skilled(text_rows, ("a", "b"))
    rows += [row for model in MODELS for row in text_rows(model, "same", 0.5)]  # as good as one another
    found, _ = rankings(table(rows), CONFIG, 0.1)
    by_proxy = {
        row["proxy"]: row for row in found if (row["dataset"], row["ranker"]) == ("a", "accuracy_on_the_line")
    }
    assert by_proxy["same"]["rho"] is None
    for key in ("rho", "rho_low", "rho_high", "tau", "tau_low", "tau_high"):
        assert by_proxy["mean"][key] == pytest.approx(by_proxy["b"][key])


def test_few_labels_are_right_on_average_and_more_are_better():
    random = np.random.RandomState(0)
    skills = np.linspace(0.3, 0.9, 6)
    performance = (random.rand(1, 400) < skills[:, None]).astype(float)  # the same items are hard for all
    noisy = (random.rand(6, 400) < np.linspace(0.45, 0.65, 6)[:, None]).astype(float)
    found = {labels: few_labels(noisy, labels, 200, 0) for labels in (10, 50, 399)}
    rho = [row["rho"] for row in found.values()]
    assert rho[0] < rho[1] < rho[2] and rho[2] > 0.95
    assert found[10]["sd"] > found[399]["sd"]
    assert few_labels(performance, 50, 200, 0)["rho"] > 0.95
    assert {labels: row["labels"] for labels, row in found.items()} == {10: 10, 50: 50, 399: 399}
    order, every = np.random.RandomState(0), []
    for _ in range(200):
        pair = noisy[:, order.permutation(400)[:50]].mean(axis=1), noisy.mean(axis=1)
        every.append((stats.spearmanr(*pair).statistic, stats.weightedtau(*pair).statistic))
    assert (found[50]["rho"], found[50]["tau"]) == pytest.approx(np.mean(every, axis=0))
    # A plain loop with other draws comes to the same mean, within its error.
    rng, drawn = np.random.default_rng(7), []
    for _ in range(300):
        picked = rng.choice(400, 50, replace=False)
        drawn.append(stats.spearmanr(noisy[:, picked].mean(axis=1), noisy.mean(axis=1)).statistic)
    error = np.std(drawn) / np.sqrt(300) + found[50]["sd"] / np.sqrt(200)
    assert abs(np.mean(drawn) - rho[1]) < 4 * error
    assert found[50]["sd"] == pytest.approx(np.std(drawn), rel=0.25)


def test_few_labels_need_more_items_and_some_order():
    assert few_labels(np.eye(3), 3, 10, 0) is None
    assert few_labels(np.ones((3, 90)), 50, 10, 0) is None
    assert few_labels(np.ones((1, 90)), 50, 10, 0) is None


def test_tasks_line_up_models_and_items():
    rows = skilled(text_rows, ("a",))
    rows = [row for row in rows if not (row["model"] == "m1" and row["prompt"] == "7/original")]
    ((plain, sampled),) = tasks(table(rows))
    assert plain.models == sampled.models == MODELS
    assert plain.performance.shape == sampled.performance.shape == (4, 60)
    assert np.isnan(plain.performance).sum() == np.isnan(sampled.label_free["agreement"]).sum() == 1
    assert len(np.unique(plain.groups)) == 30
    assert set(sampled.label_free) == set(SAMPLES) and sampled.score == "t0.7"
    assert plain.only(("m2",)).performance.shape == (1, 60)


FIGURES = pd.read_csv(ROOT / "docs/published/tu_tables.csv")


@pytest.mark.parametrize(("table", "measure"), [(1, "rho"), (1, "tau"), (2, "rho")])
def test_printed_means_agree_with_their_cells_but_for_one(table: int, measure: str) -> None:
    of_table = FIGURES[FIGURES["table"] == table].pivot(index="method", columns="dataset", values=measure)
    cells, printed = of_table.drop(columns="mean"), of_table["mean"]
    off = (cells.mean(axis=1) - printed).abs()
    wrong = off[off > 0.00501]
    assert wrong.index.tolist() == (["Ent_avg"] if table == 2 else [])
    if table == 2:
        assert cells.loc["Ent_avg"].mean() == pytest.approx(0.6125)
        assert printed["Ent_avg"] == 0.63
