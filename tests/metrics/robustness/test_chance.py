"""Scores beside a random guesser's, on numbers that the authors printed and on all others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vouch.metrics.robustness.chance import calibrated, reliability

UNIT = st.floats(0, 1)
BETWEEN = st.floats(0.01, 0.99)


def one(function: object, *values: float) -> float:
    return float(function(*(np.array([value]) for value in values))[0])  # type: ignore[operator]


def test_equation_5_by_hand() -> None:
    assert one(calibrated, 0.27, 0.27) == 0
    assert one(calibrated, 1, 0.27) == 1
    assert one(calibrated, 0, 0.27) == -1
    assert one(calibrated, 0.635, 0.27) == pytest.approx(0.5)
    assert one(calibrated, 0.365, 0.73) == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("accuracy", "random", "certainty", "expected"),
    [
        (0.31, 0.5, 0.41, 0.127),  # NYU, original: calibrated accuracies and certainties of table A6
        (0.57, 0.27, 0.73, 0.466),  # MMBench, original
        (0.14, 0.73, 0.38, 0.045),  # MMBench, negation
    ],
)
def test_reliability_of_printed_means(
    accuracy: float, random: float, certainty: float, expected: float
) -> None:
    raw = random + accuracy * (1 - random)
    assert one(reliability, raw, random, certainty) == pytest.approx(expected, abs=0.001)


def test_with_two_options_reliability_is_calibrated_accuracy_times_certainty() -> None:
    for accuracy in (0.0, 0.2, 0.5, 0.9, 1.0):
        product = one(calibrated, accuracy, 0.5) * 0.6
        assert one(reliability, accuracy, 0.5, 0.6) == pytest.approx(product)


@pytest.mark.parametrize("random", [0.0, 1.0, np.nan])
def test_no_guess_no_reliability(random: float) -> None:
    assert np.isnan(one(reliability, 0.5, random, 1))


@given(UNIT, BETWEEN)
def test_equation_5_keeps_its_range_and_its_sign(score: float, random: float) -> None:
    found = one(calibrated, score, random)
    assert -1 <= found <= 1
    assert np.sign(found) == np.sign(score - random)


@given(UNIT, BETWEEN, UNIT)
def test_reliability_is_never_farther_from_0_than_certainty(
    accuracy: float, random: float, certainty: float
) -> None:
    found = one(reliability, accuracy, random, certainty)
    assert abs(found) <= certainty + 1e-12
    if abs(accuracy - random) > 1e-9 and certainty > 1e-9:
        assert (found > 0) == (accuracy > random)
