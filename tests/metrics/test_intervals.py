"""How often intervals hold the truth, on data whose truth is known: 90 % ones in 88 to 92 % of the samples."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vouch.metrics.calibration.calibration import Bins, tally
from vouch.metrics.calibration.figures import Order, aurc, auroc, ece, selective_accuracy
from vouch.metrics.intervals import centred, group_sums, mean_interval, resampled

LEVEL = 0.9
SAMPLES, ROWS, COPIES, LEVELS = 400, 100, 2, 8
CONFIDENCE = (np.arange(LEVELS) + 0.5) / LEVELS
METRICS: dict[str, Callable[[Order], Any]] = {
    "auroc": auroc,
    "aurc": aurc,
    "selective_accuracy_50": lambda order: selective_accuracy(order)["50"],
}
Interval = tuple[float | None, float | None]


def covered(samples: int, truth: float, interval: Callable[[np.random.RandomState], Interval]) -> float:
    """Share of seeded samples whose interval holds the truth."""
    hits = 0
    for seed in range(samples):
        low, high = interval(np.random.RandomState(seed))
        assert low is not None and high is not None
        hits += low <= truth <= high
    return hits / samples


@pytest.mark.parametrize("groups", [40, 400])
def test_the_sandwich_holds_a_rate_whose_rows_hang_together(groups: int) -> None:
    def interval(random: np.random.RandomState) -> Interval:
        sizes = random.randint(1, 6, groups)
        chance = np.repeat(random.beta(3, 2, groups), sizes)
        rows = random.rand(len(chance)) < chance
        return mean_interval(rows.astype(float), np.repeat(np.arange(groups), sizes), level=LEVEL)

    assert 0.88 <= covered(1000, 0.6, interval) <= 0.92


def rows(random: np.random.RandomState, slope: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Level of confidence, right as often as slope times it says, group; every row stands twice in its group."""
    level = random.randint(0, LEVELS, ROWS)
    right = (random.rand(ROWS) < slope * CONFIDENCE[level]).astype(float)
    return tuple(np.repeat(each, COPIES) for each in (level, right, np.arange(ROWS)))  # type: ignore[return-value]


def sums(groups: np.ndarray, level: np.ndarray, *columns: np.ndarray) -> Any:
    """Sums of columns by group and level."""
    return group_sums(groups, [(level, values, LEVELS) for values in columns])


def test_the_bootstrap_holds_metrics_of_ordered_rows() -> None:
    everyone = Order(np.full(LEVELS, 1e5), 1e5 * CONFIDENCE[::-1])
    truths = {name: float(metric(everyone)) for name, metric in METRICS.items()}
    hits = dict.fromkeys(METRICS, 0)
    for seed in range(SAMPLES):
        level, right, groups = rows(np.random.RandomState(seed), 1.0)
        found = sums(groups, LEVELS - 1 - level, np.ones(len(right)), right)
        here, drawn = (
            Order(*np.split(each, 2, axis=-1)) for each in (found.sum(axis=0), resampled(found, 7))
        )
        for name, metric in METRICS.items():
            low, high = centred(float(metric(here)), metric(drawn), LEVEL)
            assert low is not None and high is not None
            hits[name] += low <= truths[name] <= high
    assert all(0.88 <= each / SAMPLES <= 0.92 for each in hits.values()), hits


def test_the_bootstrap_holds_a_calibration_error() -> None:
    def interval(random: np.random.RandomState) -> Interval:
        level, right, groups = rows(random, 0.4)
        confidence = CONFIDENCE[level]
        draws = resampled(sums(groups, level, np.ones(len(right)), confidence, right), 7)
        value = float(ece(tally(level, LEVELS, confidence, right)))
        return centred(value, ece(Bins(*np.split(draws, 3, axis=1))), LEVEL)

    assert 0.88 <= covered(SAMPLES, 0.6 * CONFIDENCE.mean(), interval) <= 0.92


def test_without_an_error_there_is_no_auroc() -> None:
    drawn = np.array([np.nan, np.nan, 0.5])
    assert np.isnan(auroc(Order(np.array([3.0]), np.array([3.0]))))
    assert centred(0.5, drawn) == (None, None)


def test_one_group_says_nothing_of_the_spread() -> None:
    assert centred(0.5, np.full(1000, 0.5)) == (None, None)
    assert mean_interval(np.array([0.0, 1.0]), np.array([3, 3])) == (None, None)
