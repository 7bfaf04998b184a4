"""The rankers without labels, each by hand on a few answers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from vouch.metrics.comparison.rankers import (
    RANKERS,
    RankingTask,
    above,
    atc,
    atc_literal,
    certainty,
    gap,
    minus_entropy,
)
from vouch.tables import TOKENS


def task(probabilities: Any, answers: Any = ()) -> RankingTask:
    p = np.array(probabilities, dtype=float)
    right = np.zeros(p.shape[1:], dtype=bool)
    for item, place in enumerate(answers):
        right[item, place] = True
    models = tuple(f"m{m}" for m in range(len(p)))
    return RankingTask(
        "d", "letters", "", models, np.arange(p.shape[1]), p[:, :, 0].copy(), {"probabilities": p}, right
    )


def of_options(p: Any, answers: Any = None) -> RankingTask:
    """A task of one model and [n, k] probabilities; performance is whether the largest is correct."""
    p = np.array([p], dtype=float)
    right = np.zeros(p.shape[1:], dtype=bool)
    right[np.arange(len(right)), answers or [0] * len(right)] = True
    performance = right[None, np.arange(len(right)), np.nanargmax(p[0], axis=1)].astype(float)
    return RankingTask(
        "d", "letters", "", ("m",), np.arange(len(right)), performance, {"probabilities": p}, right
    )


def test_thresholded_confidence_by_hand():
    proxy = np.array([[0.9, 0.8, 0.6, 0.3, 0.1]])
    performance = np.array([[1.0, 1.0, 0.0, 1.0, 0.0]])  # 3 of 5: above the threshold are .9, .8 and .6
    values = np.array([[0.31, 0.3, 0.95, np.nan, 0.2, 0.7]])
    np.testing.assert_array_equal(above(values, proxy, performance), [[1, 0, 1, np.nan, 0, 1]])
    np.testing.assert_array_equal(above(values, proxy, np.zeros((1, 5))), [[0, 0, 1, np.nan, 0, 0]])
    np.testing.assert_array_equal(above(values, proxy, np.ones((1, 5))), [[1, 1, 1, np.nan, 1, 1]])
    assert np.isnan(above(values, proxy, 3 * np.ones((1, 5)))).all(), "no share"
    assert np.isnan(above(values, proxy, np.full((1, 5), np.nan))).all()


def test_the_literal_direction_turns_a_harder_dataset_into_an_easier_one():
    unsure = task([[[0.5 - 0.01 * k, 0.5 + 0.01 * k] for k in range(5)]])
    sure = task([[[0.8 + 0.01 * k, 0.2 - 0.01 * k] for k in range(5)]])
    proxy = task([[[0.6 + 0.05 * k, 0.4 - 0.05 * k] for k in range(5)]])
    proxy.performance[0] = [0, 0, 1, 1, 1]
    found = [[r(t, proxy, 0.1).mean() for t in (unsure, proxy, sure)] for r in (atc, atc_literal)]
    assert found == [[0.0, 0.6, 1.0], [1.0, 0.6, 0.0]]


def test_thresholded_confidence_of_texts_is_of_the_least_probable_token():
    """Each model has a threshold of its own, by its performance on the proxy; NLL_avg says the opposite."""

    def of_texts(nll_min, performance):
        nll = np.array(nll_min, dtype=float)
        label_free = {"nll_avg": -nll, "nll_min": nll}
        right, groups = np.zeros((4, 0), dtype=bool), np.arange(4)
        return RankingTask("d", "text", "", ("m0", "m1"), groups, np.array(performance), label_free, right)

    proxy = of_texts([[1, 2, 3, 4], [10, 20, 30, 40]], [[1.0, 1, 0, 0], [1, 1, 1, 0]])
    unlabelled = of_texts([[0.5, 2.5, 3, np.nan], [39, 40, 41, 5]], np.zeros((2, 4)))
    found = atc(unlabelled, proxy, 0.1), atc_literal(unlabelled, proxy, 0.1)
    np.testing.assert_array_equal(found[0], [[1, 1, 0, np.nan], [1, 0, 0, 1]])  # NLL below 3, and below 40
    np.testing.assert_array_equal(found[1], [[0, 1, 1, np.nan], [1, 1, 1, 0]])  # NLL above 2, and above 10
    of_letters = task([[[0.2, 0.5, 0.3], [0.25, 0.6, 0.15]]])
    np.testing.assert_allclose(of_letters.certainty, [[0.0, np.log(0.6 / 0.4)]], atol=1e-12)


@given(st.integers(0, 500), st.integers(1, 40))
def test_on_the_proxy_itself_the_share_is_the_accuracy(seed, count):
    random = np.random.RandomState(seed)
    values, right = random.rand(1, count), (random.rand(1, count) < 0.6).astype(float)
    assert above(values, values, right).mean() == pytest.approx(right.mean())


@pytest.mark.parametrize(
    ("names", "sign"),
    [
        ([name for name in TOKENS if name in RANKERS], -1),
        (["semantic_entropy", "variation_entropy"], -1),
        (["sample_bleu", "sample_bert", "sample_bert_expanded", "agreement"], 1),
    ],
)
def test_certain_models_come_first(names: list[str], sign: int) -> None:
    """Less NLL and less entropy, of tokens, samples or variations, and samples more alike."""
    for name in names:
        given = replace(task([[[1.0]]]), label_free={name: np.array([[0.25, 0.5], [np.nan, 0.125]])})
        found = RANKERS[name].values(given)
        np.testing.assert_array_equal(found, [[sign * 0.25, sign * 0.5], [np.nan, sign * 0.125]])
        assert RANKERS[name].uncertainty == (sign < 0) and RANKERS[name].applies(given)
    assert names


def test_sets_by_hand():
    nan = np.nan
    proxy = task([[[0.7, 0.3], [0.4, 0.6], [0.9, 0.1]]], [0, 0, 0])  # 1 - p of the right ones: .3 .6 .1
    own = task([[[0.45, 0.35, 0.2], [0.8, 0.2, nan], [0.34, 0.33, 0.33], [nan, nan, nan]]])
    # alpha .5: the second smallest of three, .3: only p >= .7 fits, a set is never empty
    set_size = RANKERS["set_size"].values
    np.testing.assert_array_equal(set_size(own, proxy, 0.5), [[-1, -1, -1, nan]])
    # alpha .25: the third, .6: p >= .4
    np.testing.assert_array_equal(set_size(own, proxy, 0.25), [[-1, -1, -1, nan]])
    # alpha .1: four of three, everything
    np.testing.assert_array_equal(set_size(own, proxy, 0.1), [[-3, -2, -3, nan]])
    np.testing.assert_array_equal(certainty(own, proxy, 0.1)[0, :3], [0, 0, 0])
    np.testing.assert_array_equal(certainty(own, proxy, 0.5)[0, :3], [1, 1, 1])
    half = task([[[0.45, 0.42, 0.13]]])
    assert certainty(half, proxy, 0.25) == pytest.approx(np.array([[0.5]]))


def test_gap_and_entropy_by_hand():
    nan = np.nan
    own = task([[[0.5, 0.3, 0.2], [1.0, 0.0, nan], [nan, nan, nan]]])
    np.testing.assert_allclose(gap(own), [[0.2, 1.0, nan]])
    truth = stats.entropy([0.5, 0.3, 0.2])
    np.testing.assert_allclose(minus_entropy(own), [[-truth, 0.0, nan]], atol=1e-12)
    np.testing.assert_allclose(gap(task([[[1.0]]])), [[1.0]])


def test_entropy_of_the_three_best_options_by_hand() -> None:
    task = of_options([[0.4, 0.4, 0.1, 0.1], [1, 0, 0, 0], [0.5, 0.5, np.nan, np.nan]])
    shares = np.array([4, 4, 1]) / 9
    wanted = [(shares * np.log(shares)).sum(), 0, -np.log(2)]
    assert RANKERS["entropy_top"].values(task)[0] == pytest.approx(wanted)


def test_confidence_is_scaled_before_it_is_thresholded() -> None:
    """An overconfident model: its temperature on the proxy is the likeliest, found here by search; the order
    of confidences of questions with different runners-up then changes."""
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(400, 4)) * 6
    answers = [int(rng.choice(4, p=np.exp(row / 3) / np.exp(row / 3).sum())) for row in logits]
    softmax = lambda rows: np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)  # noqa: E731
    proxy, task = of_options(softmax(logits), answers), of_options(softmax(rng.normal(size=(300, 4)) * 6))
    nll = lambda t: -np.log(softmax(logits / t)[np.arange(400), answers]).mean()  # noqa: E731
    temperature = optimize.minimize_scalar(nll, bounds=(0.5, 20), method="bounded").x
    assert temperature == pytest.approx(3, abs=0.6)
    confidence = [
        softmax(np.log(each.label_free["probabilities"][0]) / temperature).max(axis=1)
        for each in (task, proxy)
    ]
    wanted = above(confidence[0][None], confidence[1][None], proxy.performance)
    found = RANKERS["atc_scaled"].values(task, proxy, 0.1)
    assert (found == wanted).all() and (found != RANKERS["atc"].values(task, proxy, 0.1)).any()
    silent = replace(task, label_free={"probabilities": np.full((1, 300, 4), np.nan)})
    assert np.isnan(RANKERS["atc_scaled"].values(silent, proxy, 0.1)).all()
    assert (
        RANKERS["atc_scaled"].values(task, replace(proxy, answers=np.zeros((400, 4), bool)), 0.1) >= 0
    ).all()
