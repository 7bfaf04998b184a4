"""Which items calibrate and which test."""

import math
from functools import lru_cache

import numpy as np

from stages.score.responses import Bools, Ints


@lru_cache(maxsize=8)
def authors_split(count: int, calibration: float, seed: int) -> tuple[Ints, Ints]:
    """(test, calibration) row numbers, as sklearn's train_test_split(train_size, random_state) draws them.

    A seeded permutation of all rows: the first n - floor(calibration n) test, the rest calibrate.
    Groups are torn apart. Generator: the legacy Mersenne Twister, whose stream numpy has frozen.
    Variations share the number of rows and so the split: it is remembered, hence read-only.
    """
    order = np.random.RandomState(seed).permutation(count)
    order.setflags(write=False)
    tests = count - math.floor(calibration * count)
    return order[:tests], order[tests:]


def group_splits(groups: Ints, calibration: float, seed: int, splits: int) -> Bools:
    """[splits, n] whether a row calibrates in each split, whole groups on one side.

    groups [n]: numbers from 0; which number a group has decides where it falls, the order of the
    rows does not. Each split draws floor(calibration G) of the G groups without replacement.
    """
    present, numbers = np.unique(groups, return_inverse=True)
    total = len(present)
    draws = np.random.RandomState(seed).random_sample((splits, total))
    chosen = np.argsort(draws, axis=1, kind="stable")[:, : math.floor(calibration * total)]
    calibrating = np.zeros((splits, total), dtype=bool)
    np.put_along_axis(calibrating, chosen, True, axis=1)
    return calibrating[:, numbers]


def sibling_share(groups: Ints, test: Ints, calibration: Ints) -> float:
    """Share of the test rows that have another row of their group in the calibration half."""
    seen = np.zeros(int(groups.max()) + 1, dtype=bool)
    seen[groups[calibration]] = True
    return float(seen[groups[test]].mean())
