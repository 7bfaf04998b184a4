"""The released code of the benchmark (Kostumov et al. 2024): its split, threshold, scores and sets."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.responses import Bools, Floats, Ints, count


@lru_cache(maxsize=8)
def authors_split(rows: int, calibration: float, seed: int) -> tuple[Ints, Ints]:
    """(test, calibration) row numbers, as sklearn's train_test_split(train_size, random_state) draws them.

    A seeded permutation of all rows: the first n - floor(calibration n) test, the rest calibrate.
    Groups are torn apart. Generator: the legacy Mersenne Twister, whose stream numpy has frozen.
    Variations share the number of rows and so the split: it is remembered, hence read-only.
    """
    order = np.random.RandomState(seed).permutation(rows)
    order.setflags(write=False)
    tests = rows - math.floor(calibration * rows)
    return order[:tests], order[tests:]


def sibling_share(groups: Ints, test: Ints, calibration: Ints) -> float:
    """Share of the test rows that have another row of their group in the calibration half."""
    return float(np.isin(groups[test], groups[calibration]).mean())


def authors_threshold(scores: Floats, alpha: float) -> np.floating:
    """np.quantile(scores, ceil((n+1)(1-alpha))/n, method="higher") in the dtype of `scores` [n].

    That is the 0-based order statistic ceil((n-1) level), one above the textbook's for level < 1.
    +inf where n is too small for the level to be at most 1 (numpy would raise).
    """
    number = len(scores)
    rank = math.ceil((number + 1) * (1 - alpha))
    if rank > number:
        return scores.dtype.type(np.inf)
    index = -((1 - number) * rank // number)
    smallest: np.floating = np.partition(scores, index)[index]
    return smallest


@dataclass(frozen=True)
class Sets:
    """size: how many letters; covered: whether an answer is among them. Both [n]."""

    size: np.ndarray
    covered: Bools


class Authors(NamedTuple):
    """answers(probabilities) -> [n]: score of the answer in the stored dtype; sets: the prediction sets.

    An item with several answers has the smallest score among them, because a set covers it as soon as it
    holds one of them.
    """

    answers: Callable[[Probabilities], Floats]
    sets: Callable[[Probabilities, np.floating], Sets]


def _measure(kept: Bools, answers: Bools) -> Sets:
    """Sets from the kept letters [n, k] and the answers in the same order."""
    return Sets(count(kept), np.asarray((kept & answers).any(axis=1)))


def _lac_answers(probabilities: Probabilities) -> Floats:
    """[n] 1 - p of the answer."""
    return np.asarray(1 - (probabilities.p * probabilities.answers).max(axis=1))


def _lac_sets(probabilities: Probabilities, threshold: np.floating) -> Sets:
    """The letters with p >= 1 - threshold; where there is none, the most probable one (lowest of equals)."""
    kept = (probabilities.p >= probabilities.p.dtype.type(1) - threshold) & probabilities.present
    empty = np.flatnonzero(~kept.any(axis=1))
    kept[empty, probabilities.p[empty].argmax(axis=1)] = True
    return _measure(kept, probabilities.answers)


def _aps_answers(probabilities: Probabilities) -> Floats:
    """[n] running sum down to the answer, in the released order of ties (see ordering)."""
    # Of several answers the smallest sum; what is no answer lies beyond every sum, which is about 1 at most.
    beyond = probabilities.p.dtype.type(4)
    scores = np.full(len(probabilities.p), beyond)
    for summed, answers in zip(probabilities.cumulative.T, probabilities.ranked_answers.T, strict=True):
        np.minimum(scores, summed + beyond * ~answers, out=scores)
    return scores


def _aps_sets(probabilities: Probabilities, threshold: np.floating) -> Sets:
    """Letters in descending order while the running sum is <= threshold, at least the first.

    Not up to the letter that crosses it; much of the coverage comes from the letter kept in an empty set.
    """
    kept = (probabilities.cumulative <= threshold) & probabilities.ranked_present
    kept[:, 0] = True
    return _measure(kept, probabilities.ranked_answers)


AUTHORS: dict[str, Authors] = {
    "lac": Authors(_lac_answers, _lac_sets),
    "aps": Authors(_aps_answers, _aps_sets),
}
