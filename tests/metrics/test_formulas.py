"""Quantiles, splits, bins, metrics and intervals by hand and against numpy and torch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vouch.metrics.calibration import equal_slots, torchmetrics_slots
from vouch.metrics.confidence import (
    Order,
    aurc,
    auroc,
    selective_accuracy,
)
from vouch.metrics.conformal.figures import OF_SETS, SetCounts
from vouch.metrics.conformal.sets import exact_rank, group_splits
from vouch.metrics.intervals import RESAMPLES, centred, group_sums, mean_interval, resampled
from vouch.metrics.metric import find, metrics, named


def test_the_exact_rank_has_no_rounding_error() -> None:
    assert [exact_rank(n, 0.1) for n in (0, 8, 9, 19, 99, 100)] == [1, 9, 9, 18, 90, 91]
    assert exact_rank(99, 0.05) == 95
    assert [exact_rank(n, 1 - 0.9) for n in (0, 8, 9, 19, 99, 100)] == [1, 9, 9, 18, 90, 91]
    assert exact_rank(9, 0.3 - 0.2) == exact_rank(9, 0.1 + 1e-16) == exact_rank(9, 0.1) == 9
    assert [exact_rank(n, 1 / 3) for n in (2, 5, 29)] == [2, 4, 20]
    assert [exact_rank(6, 1 - 2 / 7), exact_rank(9, 1 - 1e-13)] == [2, 1]
    assert [exact_rank(10**9 - 1, alpha) for alpha in (0.1 + 1e-9, 1e-13)] == [899_999_999, 10**9]
    # In floating point (1 - 0.9) * 10 is 0.9999999999999998 and 100 * (1 - 0.93) is 6.999999999999995.
    assert exact_rank(99, 0.93) == 7
    assert exact_rank(9, 0.9) == 1


def test_group_splits_keep_groups_whole() -> None:
    groups = np.random.RandomState(0).randint(0, 30, 200)
    calibrating = group_splits(groups, 0.4, 1, 50).calibrating()
    assert calibrating.shape == (50, 200)
    for split in calibrating:
        assert not set(groups[split]) & set(groups[~split])
        assert len(set(groups[split])) == int(0.4 * len(set(groups)))
    assert len({split.tobytes() for split in calibrating}) == 50
    assert (calibrating == group_splits(groups, 0.4, 1, 50).calibrating()).all()
    assert (calibrating != group_splits(groups, 0.4, 2, 50).calibrating()).any()


@pytest.mark.parametrize("bins", [1, 2, 7, 10, 15, 30])
def test_bins_are_those_of_torch(bins: int) -> None:
    torch = pytest.importorskip("torch")
    edges = torch.linspace(0, 1, bins + 1)
    exact = edges.numpy()
    near = [np.nextafter(exact, np.float32(0)), exact, np.nextafter(exact, np.float32(1))]
    confidence = np.concatenate([*near, np.random.RandomState(0).rand(5000).astype(np.float32)])
    expected = torch.bucketize(torch.from_numpy(confidence), edges, right=True) - 1
    assert torchmetrics_slots(confidence, bins).tolist() == expected.tolist()


def test_set_metrics_by_hand() -> None:
    # one filled set of one letter that holds the answer, one of three letters that does not, two of two that do
    counted = np.bincount([4 * 1 + 2 + 1, 4 * 3, 4 * 2 + 2, 4 * 2 + 2])
    sets = SetCounts(counted, np.array(0.5), np.array(4.0))
    found = {}
    for metric, formula in OF_SETS.items():
        found |= named(metric, formula(sets))
    assert found == {
        "coverage": 0.75,
        "unfilled_coverage": 0.5,
        "empty_rate": 0.25,
        "set_size": 2,
        "uacc": pytest.approx(0.5 * 2 / 2),
        "singleton_rate": 0.25,
        "set_size_share_1": 0.25,
        "set_size_share_2": 0.5,
        "set_size_share_3": 0.25,
        "worst_size_coverage": 0,
    }


def test_every_metric_is_declared_once() -> None:
    assert {name for name, metric in metrics().items() if not (metric.label and metric.help)} == set()
    assert {name for name, metric in metrics().items() if metric.ranked and not metric.better} == set()
    assert find("selective_accuracy_80") is metrics()["selective_accuracy"]
    assert find("coverage_calibrated_on_10") is metrics()["coverage_calibrated_on"]
    assert find("acuracy") is None


def test_cluster_interval_equals_the_plain_one_without_clusters() -> None:
    values = (np.random.RandomState(0).rand(400) < 0.3).astype(float)
    low, high = mean_interval(values, np.arange(400))
    error = values.std(ddof=1) / 20
    quantile = 1.965927  # of Student's t with 399 degrees of freedom
    assert (low, high) == pytest.approx(
        (values.mean() - quantile * error, values.mean() + quantile * error), abs=1e-6
    )
    wide = mean_interval(np.repeat(values, 4), np.repeat(np.arange(400), 4))
    assert wide == pytest.approx((low, high))


def test_cluster_interval_at_the_ends_is_not_a_point() -> None:
    ones = np.ones(20)
    assert mean_interval(ones, np.arange(20)) == pytest.approx((0.025 ** (1 / 20), 1.0))
    assert mean_interval(ones, np.repeat(np.arange(5), 4)) == pytest.approx((0.025 ** (1 / 5), 1.0))
    assert mean_interval(0 * ones, np.arange(20)) == pytest.approx((0.0, 1 - 0.025 ** (1 / 20)))


def test_resampling_draws_whole_groups() -> None:
    sums = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    totals = resampled(sums, 0)
    assert totals.shape == (RESAMPLES, 2)
    assert (totals[:, 1] == 10 * totals[:, 0]).all()
    assert totals[:, 0].mean() == pytest.approx(7, abs=0.3)
    assert set(totals[:, 0]) <= {a + b + c for a in (1, 2, 4) for b in (1, 2, 4) for c in (1, 2, 4)}


def test_a_centred_interval_stays_within_bounds() -> None:
    assert centred(0.01, np.linspace(0.0, 1.0, RESAMPLES)) == pytest.approx((0.0, 0.485))


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10, 15, 50, 100, 1000])
def test_an_edge_belongs_to_the_bin_above_however_it_was_computed(bins: int) -> None:
    edges = np.arange(bins) / bins
    wanted = list(range(bins))
    for computed in (
        edges,
        1 - (1 - edges),
        0.3 + edges - 0.3,
        np.array([float(f"{e:.15g}") for e in edges]),
    ):
        assert equal_slots(np.clip(computed, 0, 1), bins).tolist() == wanted
    assert equal_slots(np.array([0.0, 1.0]), bins).tolist() == [0, bins - 1]
    assert equal_slots(edges[1:] - 1e-9, bins).tolist() == wanted[:-1]


LEVEL = 0.9
SAMPLES, ROWS, COPIES, LEVELS = 400, 100, 2, 8
CONFIDENCE = (np.arange(LEVELS) + 0.5) / LEVELS
METRICS: dict[str, Callable[[Order], Any]] = {
    "auroc": auroc,
    "aurc": aurc,
    "selective_accuracy_50": lambda order: selective_accuracy(order)["50"],
}


@pytest.mark.parametrize("groups", [40, 400])
def test_the_sandwich_holds_a_rate_whose_rows_hang_together(groups: int) -> None:
    hits = 0
    for seed in range(1000):
        random = np.random.RandomState(seed)
        sizes = random.randint(1, 6, groups)
        chance = np.repeat(random.beta(3, 2, groups), sizes)
        rows = random.rand(len(chance)) < chance
        low, high = mean_interval(rows.astype(float), np.repeat(np.arange(groups), sizes), level=LEVEL)
        assert low is not None and high is not None
        hits += low <= 0.6 <= high
    assert 0.88 <= hits / 1000 <= 0.92


def test_the_bootstrap_holds_metrics_of_ordered_rows() -> None:
    everyone = Order(np.full(LEVELS, 1e5), 1e5 * CONFIDENCE[::-1])
    truths = {name: float(metric(everyone)) for name, metric in METRICS.items()}
    hits = dict.fromkeys(METRICS, 0)
    for seed in range(SAMPLES):
        random = np.random.RandomState(seed)
        level = random.randint(0, LEVELS, ROWS)
        right = (random.rand(ROWS) < CONFIDENCE[level]).astype(float)
        level, right, groups = (np.repeat(each, COPIES) for each in (level, right, np.arange(ROWS)))
        tallies = [(LEVELS - 1 - level, values, LEVELS) for values in (np.ones(len(right)), right)]
        found = group_sums(groups, tallies)
        here, drawn = (
            Order(*np.split(each, 2, axis=-1)) for each in (found.sum(axis=0), resampled(found, 7))
        )
        for name, metric in METRICS.items():
            low, high = centred(float(metric(here)), metric(drawn), LEVEL)
            assert low is not None and high is not None
            hits[name] += low <= truths[name] <= high
    assert all(0.88 <= each / SAMPLES <= 0.92 for each in hits.values()), hits


def test_without_an_error_there_is_no_auroc() -> None:
    drawn = np.array([np.nan, np.nan, 0.5])
    assert np.isnan(auroc(Order(np.array([3.0]), np.array([3.0]))))
    assert centred(0.5, drawn) == (None, None)


def test_one_group_says_nothing_of_the_spread() -> None:
    assert centred(0.5, np.full(1000, 0.5)) == (None, None)
    assert mean_interval(np.array([0.0, 1.0]), np.array([3, 3])) == (None, None)
