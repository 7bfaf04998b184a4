"""The released code of the benchmark (Kostumov et al. 2024): its split, threshold, scores and sets.

Certainty by the size of prediction sets over classes of options (Schmalfuss et al. 2025).

Only the native options of a prompt count. Where a variation flips the answer, all options that are then
correct are one class with the sum of their probabilities. A row's certainty is 1 - (|C| - 1) / (|P| - 1), C
its LAC set and P its classes: 1 for a set of one class, 0 for a set of all.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.calibration.calibration import Probabilities, authors_probabilities
from vouch.metrics.config import Config
from vouch.metrics.conformal.scores import rank, with_penalties
from vouch.metrics.conformal.sets import answer_scores, group_splits, set_membership, thresholds
from vouch.metrics.responses import Array, Bools, Floats, Ints, Responses, count
from vouch.tables.asked import KEPT


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


def classes(responses: Responses, effect: str) -> Responses:
    """The same rows with a letter for each class; the merged one comes last and stands for no option.

    Its logit is the log of the sum of the exponentials. effect: of the variation, as in PROMPTS.
    """
    shown = np.arange(responses.logits.shape[1]) < responses.options[:, None]
    native = shown & (responses.roles >= 0)
    right = responses.answers & native
    if effect == KEPT:
        return _packed(responses, responses.logits, right, native)
    merged = np.logaddexp.reduce(np.where(right, responses.logits.astype(np.float64), -np.inf), axis=1)
    logits = np.column_stack([responses.logits, merged])
    some = right.any(axis=1)
    answers = np.column_stack([np.zeros_like(right), some])
    return _packed(responses, logits, answers, np.column_stack([native & ~right, some]))


def _packed(responses: Responses, logits: NDArray[np.floating], answers: Bools, kept: Bools) -> Responses:
    """The kept columns of every row [n, c], moved to the left."""
    order = np.argsort(~kept, axis=1, kind="stable")
    count = kept.sum(axis=1)
    moved = np.take_along_axis(np.where(kept, logits, -np.inf), order, axis=1)
    return replace(
        responses,
        logits=np.asfortranarray(moved, dtype=logits.dtype),
        answers=np.asfortranarray(np.take_along_axis(answers, order, axis=1)),
        roles=np.zeros(kept.shape, dtype=np.int32),
        letters=count,
        options=count,
    )


def certainty(responses: Responses, effect: str, protocol: str, config: Config) -> Array:
    """[n] certainty of each row in a protocol; NaN for a row with one class or that never tests.

    faithful: the test half of the one split with `config.seed`. clean: mean over the splits in which a row
    tests, groups whole, without the defective rows. An empty set holds the most probable class.
    """
    found = classes(responses, effect)
    usable = (found.options > 1) & np.isfinite(found.logits).any(axis=1)
    if protocol == "clean":
        usable &= ~responses.defective
    values = np.full(len(responses), np.nan)
    if usable.any():
        rows = found.take(usable)
        sizes = (_clean if protocol == "clean" else _faithful)(rows, config)
        values[usable] = 1 - (sizes - 1) / (rows.options - 1)
    return values


def _faithful(rows: Responses, config: Config) -> Array:
    """[n] set sizes, NaN for the rows that calibrate."""
    test, calibration = authors_split(len(rows), config.calibration, config.seed)
    probabilities = authors_probabilities(rows)
    threshold = authors_threshold(AUTHORS["lac"].answers(probabilities)[calibration], config.main_alpha)
    sizes = np.full(len(rows), np.nan)
    sizes[test] = AUTHORS["lac"].sets(probabilities, threshold).size[test]
    return sizes


def _clean(rows: Responses, config: Config) -> Array:
    """[n] mean set sizes, NaN for a row that calibrates in every split."""
    ranked, scores = rank(rows), {"lac": with_penalties("lac", config.settings.penalties)}
    splits = group_splits(rows.groups, config.calibration, config.seed, config.splits)
    all_alike = np.zeros(len(rows), dtype=np.int64)
    answers = answer_scores(ranked, scores)["lac"]
    limits = {"lac": thresholds(answers, all_alike, 1, splits, config.main_alpha)}
    sizes, _ = set_membership(ranked, scores, limits, all_alike)["lac"].row_means(splits)
    return np.where(splits.tests > 0, sizes, np.nan)
