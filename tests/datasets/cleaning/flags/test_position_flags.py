import pytest
from scipy import stats

from vouch.datasets.cleaning.flags.positions import positions


def test_one_size_is_the_plain_test():
    counts = [70, 30, 30, 30]
    found = positions((4, place) for place, count in enumerate(counts) for _ in range(count))
    expected = stats.chisquare(counts)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert (found.letter, found.share, found.even, found.beyond) == ("A", 0.4375, 0.25, 30)
    assert found.freedom == 3 and found.skewed


def test_fewer_options_alone_are_no_skew():
    """Many items with two options put more answers at A and B than at C and D; that is no preference."""
    pairs = [(2, n % 2) for n in range(200)] + [(4, n % 4) for n in range(100)]
    found = positions(pairs)
    assert found.statistic == 0 and found.p_value == 1 and not found.skewed and found.beyond == 0
    assert found.share > 0.4


def test_too_few_to_tell():
    assert positions([]) is None
    found = positions([(4, 0)] * 19)
    assert found.p_value is None and not found.skewed
