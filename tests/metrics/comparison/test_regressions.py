"""The gate against regressions: its p against the binomial law and all signs, its false alarms by simulation."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

import vouch
from vouch.metrics.comparison.statistics import sign_flip_p


def test_of_single_questions_it_is_mcnemars_test() -> None:
    for lost, won in ((0, 0), (5, 0), (9, 4), (3, 7), (50_500, 49_500)):
        sums = np.array([-1] * lost + [1] * won + [0] * 20)
        assert sign_flip_p(sums) == pytest.approx(binom.sf(lost - 1, lost + won, 0.5) if lost + won else 1.0)


def test_of_groups_it_counts_every_choice_of_signs() -> None:
    sums = np.array([-3, -2, 0, 1, -4, 2, 2])
    every = [np.dot(signs, np.abs(sums)) for signs in product((-1, 1), repeat=len(sums))]
    assert sign_flip_p(sums) == pytest.approx(np.mean([each <= sums.sum() for each in every]))


def test_false_alarms_come_as_rarely_as_promised_over_all_names_and_looks() -> None:
    random, bound, alarms, wrong = np.random.default_rng(0), 0.1, 0, 0
    for _ in range(300):
        raised = False
        for look in (1, 2, 3):
            versions = []
            # copies of a question are right together; versions differ on a part of the groups
            base = random.random((2, 300)) < 0.7
            for _version in range(2):
                versions.append(np.where(random.random((2, 300)) < 0.3, random.random((2, 300)) < 0.7, base))
            before, after = ({n: np.repeat(v[i], 3) for i, n in enumerate("ab")} for v in versions)
            groups = np.repeat(np.arange(300), 3)
            raised |= bool(
                vouch.regressions(before, after, groups=groups, false_alarms=bound, look=look).alarms
            )
            wrong += bool(vouch.regressions(before, after, false_alarms=bound).alarms)
        alarms += raised
    assert bound / 5 < alarms / 300 < bound
    assert wrong / 900 > bound  # copies taken for independent questions break it


def test_a_real_loss_is_found_and_a_small_one_allowed() -> None:
    random = np.random.default_rng(1)
    right = random.random(1000) < 0.8
    worse = right & (random.random(1000) < 0.9)
    found = vouch.regressions({"m": right, "n": right}, {"m": worse, "n": right})
    assert found.alarms == ("m",) and found.p["n"] == 1
    assert vouch.regressions({"m": right}, {"m": worse}, allowed=0.2).alarms == ()
    with pytest.raises(ValueError, match="same names"):
        vouch.regressions({"m": right}, {"n": worse})
