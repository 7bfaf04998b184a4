"""Prediction sets of sampled answers, with the number of samples calibrated as well (TRON, Wang et al. 2024).

First, how many samples it takes: the smallest number with which all but a share `misses` of the questions
have a right sample. Then, which of their distinct answers belong to the set: those as frequent as all but a
share `leaves` of the right ones. A set misses the right answer with a probability of about misses + leaves,
as simulation shows: both thresholds come from the same rows, so nothing proves it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vouch.metrics.conformal.splits import Splits
from vouch.metrics.conformal.thresholds import quantile
from vouch.metrics.responses import Array, Bools, Ints


@dataclass(frozen=True)
class Samples:
    """S samples of n questions.

    same [n, S]: number of the sample's answer, from 0 in the order in which they first come.
    right [n, S]: whether it is right.
    """

    same: Ints
    right: Bools

    def first_right(self) -> Array:
        """[n] place of the first right sample, from 1; inf where none is right."""
        return np.where(self.right.any(axis=1), self.right.argmax(axis=1) + 1.0, np.inf)

    def shares(self, number: int) -> tuple[Array, Bools]:
        """[n, S] share of each answer among the first so many samples, and whether that answer is right."""
        chosen = self.same[:, :number, None] == np.arange(self.same.shape[1])
        return chosen.mean(axis=1), np.asarray((chosen & self.right[:, :number, None]).any(axis=1))


def numbered(answers: Sequence[Sequence[str]], right: Sequence[Sequence[bool]] | Bools) -> Samples:
    """From the answers of each question, as many of each, and whether they are right."""
    same = []
    for row in answers:
        places: dict[str, int] = {}
        same.append([places.setdefault(answer, len(places)) for answer in row])
    return Samples(np.array(same, dtype=np.int64), np.array(right, dtype=bool))


@dataclass(frozen=True)
class SampledSets:
    """By split: samples, largest 1 - share in a set, coverage and mean size of the sets of the test rows."""

    samples: Array
    threshold: Array
    coverage: Array
    size: Array


def sampled_sets(drawn: Samples, splits: Splits, misses: float, leaves: float) -> SampledSets | None:
    """None where in some split no number of the samples drawn is enough."""
    first = drawn.first_right()
    needed = np.array([quantile(first[calibrates], misses) for calibrates in splits])
    if not np.isfinite(needed).all():
        return None
    found = np.empty((4, len(splits)))
    by_number = {number: drawn.shares(int(number)) for number in set(needed.tolist())}
    for split, calibrates in enumerate(splits):
        shares, right = by_number[needed[split]]
        scores = 1 - np.where(right, shares, 0).max(axis=1)
        limit = quantile(scores[calibrates & (first <= needed[split])], leaves)
        kept = ((shares > 0) & (1 - shares <= limit))[~calibrates]
        covered, size = (kept & right[~calibrates]).any(axis=1), kept.sum(axis=1)
        found[:, split] = needed[split], limit, covered.mean(), size.mean()
    return SampledSets(*found)
