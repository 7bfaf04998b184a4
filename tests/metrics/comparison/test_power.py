"""Power before a run: simulated studies find the promised difference four times in five, and the report agrees."""

import numpy as np
import pytest

from vouch.metrics.comparison.statistics import (
    detectable,
    deviation,
    finds,
    minimum_detectable_effect,
    p_values,
    questions_for,
)
from vouch.report.gates import SIGNIFICANCE

DISCORDANT = 0.2


def found(
    random: np.random.Generator, groups: int, size: int, together: float, gap: float, level: float
) -> bool:
    """Whether one study names a model that is better by `gap`. together: chance that a group shares its fate."""
    shared, own = random.random((groups, 1)), random.random((groups, size))
    fate = np.where(random.random((groups, 1)) < together, shared, own)
    up, down = (DISCORDANT + gap) / 2, (DISCORDANT - gap) / 2
    differences = np.where(fate < up, 1.0, np.where(fate < up + down, -1.0, 0.0))
    sums, counts = differences.sum(axis=1)[:, None], np.full((groups, 1), float(size))
    mean = np.array([differences.mean()])
    return bool(mean[0] > 0 and p_values(mean, sums, counts)[0] < level)


@pytest.mark.parametrize(("groups", "size", "together"), [(900, 1, 0.0), (300, 4, 0.5)])
@pytest.mark.parametrize("claims", [1, 10])
def test_four_of_five_studies_find_the_difference(
    groups: int, size: int, together: float, claims: int
) -> None:
    design = 1 + (size - 1) * together
    gap = finds(groups * size, (DISCORDANT * design) ** 0.5, 0.05, claims)
    random = np.random.default_rng(0)
    share = np.mean([found(random, groups, size, together, gap, 0.05 / claims) for _ in range(1500)])
    # d is used without gap^2: a little more than 80 % of the studies
    assert 0.78 < share < 0.86
    small = np.mean([found(random, groups, size, together, gap / 2, 0.05 / claims) for _ in range(500)])
    assert small < 0.4


def test_so_many_questions_as_needed_find_what_is_wanted() -> None:
    spread = 0.5
    needed = questions_for(0.03, 700, finds(700, spread))
    assert finds(needed, spread) <= 0.03 < finds(needed - 1, spread)
    low, high = -0.02, 0.06
    of_report = minimum_detectable_effect(low, high, SIGNIFICANCE, 6)
    assert finds(400, deviation(low, high, 400), SIGNIFICANCE, 6) == pytest.approx(of_report)
    assert detectable(0.5 / 20) == pytest.approx(finds(400, 0.5))
