"""What becomes of every row's prediction set in many splits, without building the sets of every split.

Thresholds of different splits lie close together, so most rows have the same set in all of them: they
are settled and counted once. Only the live rows, with a score between the smallest and the largest
threshold, are looked at split by split.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stages.score.ordering import pieces
from stages.score.ranked import Ranked
from stages.score.responses import Bools, Floats, Ints, count
from stages.score.splits import Splits

LIVE = 1 << 11
"""Live rows that are counted at a time, so that memory stays flat."""
Scores = Callable[[Ranked], Floats]


def answer_scores(ranked: Ranked, scores: Scores) -> NDArray[np.float64]:
    """[n] score of each row's answer, the smallest of several."""
    found = np.empty(len(ranked))
    for piece in pieces(len(ranked)):
        part = ranked.part(piece)
        np.where(part.answers, scores(part), np.inf).min(axis=1, out=found[piece])
    return found


@dataclass(frozen=True)
class States:
    """A state is 4 size + 2 covered + empty: of the filled set, and whether it was empty before.

    settled [n]             state of the rows that are not live; meaningless elsewhere
    live    [r]             the live rows
    varying [splits, r]     their states
    """

    settled: NDArray[np.uint8]
    live: Ints
    varying: NDArray[np.uint8]

    def counts(self, splits: Splits) -> NDArray[np.int64]:
        """[splits, s] how many test rows of each split are in each state."""
        number = 1 + max(int(self.settled.max(initial=0)), int(self.varying.max(initial=0)))
        counted = np.zeros((len(splits.bits), number), dtype=np.int64)
        fixed = np.ones(splits.rows, dtype=bool)
        fixed[self.live] = False
        for state in np.unique(self.settled):
            rows = fixed & (self.settled == state)
            counted[:, state] = np.count_nonzero(rows) - splits.count(rows)
        first = np.arange(len(splits.bits))[:, None] * number
        for start in range(0, len(self.live), LIVE):
            testing = ~splits.calibrating(self.live[start : start + LIVE])
            cells = (first + self.varying[:, start : start + LIVE])[testing]
            counted += np.bincount(cells, minlength=counted.size).reshape(counted.shape)
        return counted

    def row_means(self, splits: Splits) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[n] mean size and mean coverage of each row over the splits in which it tests, else 0."""
        testing = ~splits.calibrating(self.live)
        times = np.maximum(testing.sum(axis=0), 1)
        tested = splits.tests > 0
        found = []
        for shift, mask in ((2, 63), (1, 1)):
            means = (self.settled >> shift & mask).astype(np.float64)
            varying = (self.varying >> shift & mask) * testing
            means[self.live] = varying.sum(axis=0, dtype=np.int64) / times
            found.append(means * tested)
        return found[0], found[1]


def mean_over_tests(values: np.ndarray, splits: Splits) -> NDArray[np.float64]:
    """[splits] mean of values [n] over the rows that test; exact sums of equal values at a time."""
    total = np.zeros(len(splits.bits))
    for value in np.unique(values):
        rows = values == value
        total += float(value) * (np.count_nonzero(rows) - splits.count(rows))
    return total / (splits.rows - splits.sizes)


def states(
    ranked: Ranked, scores: Scores, limits: NDArray[np.float64], strata: NDArray[np.integer] | None
) -> States:
    """States of all rows in every split.

    limits [splits, strata]: thresholds. strata [n]: which of them a row has; None: each letter has
    that of its place in the prompt.
    """
    low, high = limits.min(axis=0), limits.max(axis=0)
    settled = np.empty(len(ranked), dtype=np.uint8)
    live, varying = [np.zeros(0, dtype=np.int64)], [np.zeros((len(limits), 0), dtype=np.uint8)]
    for piece in pieces(len(ranked)):
        part = ranked.part(piece)
        # NaN, because not even an infinite threshold admits a letter that does not exist.
        found = np.where(part.present, scores(part), np.nan)
        where = part.letters if strata is None else strata[piece, None]
        kept = found <= low[where]
        settled[piece] = _state(part, count(kept), (kept & part.answers).any(axis=1))
        moving = np.flatnonzero(((found <= high[where]) != kept).any(axis=1))
        if len(moving):
            live.append(moving + piece.start)
            varying.append(_varying(part.take(moving), found[moving], limits, where[moving]))
    return States(settled, np.concatenate(live), np.concatenate(varying, axis=1))


def _varying(
    part: Ranked, scores: Floats, limits: NDArray[np.float64], where: NDArray[np.integer]
) -> NDArray[np.uint8]:
    """[splits, r] states of r rows; scores [r, k], where [r, k] or [r, 1] as columns of limits."""
    size = np.zeros((len(limits), len(part)), dtype=np.uint8)
    covered = np.zeros(size.shape, dtype=bool)
    answers = part.answers
    for letter in range(scores.shape[1]):
        threshold = limits[:, where[:, min(letter, where.shape[1] - 1)]]
        kept = scores[:, letter] <= threshold
        size += kept
        covered |= kept & answers[:, letter]
    return _state(part, size, covered)


def _state(part: Ranked, size: NDArray[np.uint8], covered: Bools) -> NDArray[np.uint8]:
    """[..., n] states of sets with that size and coverage; the most probable letters fill an empty one."""
    tops = part.tops
    empty = size == 0
    filled = np.where(empty, count(tops), size)
    covered = covered | (empty & (tops & part.answers).any(axis=1))
    return np.asarray(filled << 2 | covered.view(np.uint8) << 1 | empty.view(np.uint8))
