"""Correlations against scipy's own, and p against a count by hand."""

from math import factorial, isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from vouch.metrics.comparison.ranking import p_values, spearman, weighted_tau

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


@given(st.integers(0, 10_000))
def test_many_at_once_are_each_by_itself(seed):
    x, y = np.random.RandomState(seed).randint(0, 6, (2, 4, 3, 7)).astype(float)
    for measure in (spearman, weighted_tau):
        together = measure(x, y)
        alone = [
            [float(measure(a, b)) for a, b in zip(*rows, strict=True)] for rows in zip(x, y, strict=True)
        ]
        np.testing.assert_array_equal(together, alone)


@given(st.integers(2, 12).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.permutations(range(n)))))
def test_the_order_of_the_models_does_not_matter_and_turning_turns(pair):
    x, y = np.random.RandomState(0).randint(0, 5, (2, len(pair[0]))).astype(float)
    for measure in (spearman, weighted_tau):
        assert close(float(measure(x, y)), float(measure(x[list(pair[0])], y[list(pair[0])])))
    ranks = [np.array(one, dtype=float) for one in pair]
    assert spearman(-ranks[0], ranks[1]) == -spearman(*ranks)


def test_turned_before_weighing_is_not_the_absolute_value_of_turned_after():
    nll, performance = np.array([3.0, 2.0, 0.5, 1.0]), np.array([0.1, 0.4, 0.5, 0.6])
    assert float(weighted_tau(-nll, performance)) != pytest.approx(abs(float(weighted_tau(nll, performance))))
    assert float(spearman(-nll, performance)) == pytest.approx(abs(float(spearman(nll, performance))))


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


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_a_perfect_order_has_the_smallest_p(count):
    order = np.arange(count, dtype=float)
    assert p_values(order, 2 * order) == pytest.approx((2 / factorial(count),) * 2)


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
