"""Nonconformity scores, SCORES by the names of `score.scores`. To add one, add an entry.

A formula takes Ranked rows and Settings and returns [n, k], the score of every letter by its definition. The
clean protocol builds {letters with a score <= threshold} from it, so a score has no unit: only its order
counts. Letters of equal probability have equal scores. Random terms use one uniform number a row that hangs
on the item alone (see noise), so it is the same in every order of rows, every variation and every split.

The two scores of the benchmark have as well what its authors' code does, from Probabilities. An item with
several answers has the smallest score among them, because a set covers it as soon as it holds one of them.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.conformal.ranked import Ranked
from vouch.metrics.conformal.sets import Sets, measure
from vouch.metrics.responses import Floats

if TYPE_CHECKING:
    from vouch.metrics.config import Settings


class Authors(NamedTuple):
    """answers(probabilities) -> [n]: score of the answer in the stored dtype; sets: the prediction sets."""

    answers: Callable[[Probabilities], Floats]
    sets: Callable[[Probabilities, np.floating], Sets]


def aps_randomised(ranked: Ranked, settings: "Settings") -> Floats:
    """APS with its random term: sum of all p_j > p_k, plus u times the sum of all p_j = p_k."""
    return np.asarray(ranked.before + ranked.noise[:, None] * (ranked.upto - ranked.before))


def lac(ranked: Ranked, settings: "Settings") -> Floats:
    """LAC, least ambiguous classifier: 1 - p (Sadinle, Lei and Wasserman 2019)."""
    return np.asarray(1 - ranked.p)


def margin(ranked: Ranked, settings: "Settings") -> Floats:
    """max_{j != k} p_j - p_k, in -1 ... 1; -p_k for a letter that stands alone (Löfström et al. 2015).

    Two-sided: negative for the most probable letter. Where nearly all answers are on top the threshold is
    negative too, a set may be empty, and `negative_threshold_rate` says how often.
    """
    scores = ranked.p[:, :1] - ranked.p
    second = ranked.p[:, 1] if ranked.p.shape[1] > 1 else 0.0
    scores[:, 0] = second - ranked.p[:, 0]
    return np.asarray(scores)


def raps(ranked: Ranked, settings: "Settings") -> Floats:
    """APS with its random term, plus penalty (place - k_reg)_+ (Angelopoulos, et al. 2021)."""
    extra = settings.raps.penalty * np.maximum(ranked.place - settings.raps.k_reg, 0)
    return np.asarray(aps_randomised(ranked, settings) + extra)


def saps(ranked: Ranked, settings: "Settings") -> Floats:
    """u p_max for the most probable letters, p_max + (place - 2 + u) penalty else (Huang et al. 2024)."""
    noise, top = ranked.noise[:, None], ranked.p[:, :1]
    below = top + (ranked.place - 2 + noise) * settings.saps.penalty
    return np.asarray(np.where(ranked.place == 1, noise * top, below))


SCORES: "dict[str, Callable[[Ranked, Settings], Floats]]" = {
    # Sum of all p_j >= p_k: equation 4 of the benchmark's paper to the letter, equals included, without
    # the random term of Romano, Sesia and Candes (2020).
    "aps": lambda ranked, settings: ranked.upto,
    # Sum of all p_j > p_k: the set that keeps the letter with which the running sum crosses the threshold.
    # The most probable letter has score 0: no set is empty.
    "aps_crossing": lambda ranked, settings: ranked.before,
    "aps_randomised": aps_randomised,
    "lac": lac,
    "margin": margin,
    "raps": raps,
    "saps": saps,
}


def with_settings(name: str, settings: "Settings") -> Callable[[Ranked], Floats]:
    """The formula of a name with its settings."""
    formula = SCORES[name]
    return lambda ranked: formula(ranked, settings)


def _lac_answers(probabilities: Probabilities) -> Floats:
    """[n] 1 - p of the answer."""
    answer = np.zeros(len(probabilities.p), dtype=probabilities.p.dtype)
    for p, answers in zip(probabilities.p.T, probabilities.answers.T, strict=True):
        np.maximum(answer, p * answers, out=answer)
    return np.asarray(1 - answer)


def _lac_sets(probabilities: Probabilities, threshold: np.floating) -> Sets:
    """The letters with p >= 1 - threshold; where there is none, the most probable one (lowest of equals)."""
    kept = (probabilities.p >= probabilities.p.dtype.type(1) - threshold) & probabilities.present
    sets = measure(kept, probabilities.answers)
    empty = np.flatnonzero(sets.size == 0)
    if len(empty):
        kept[empty, probabilities.p[empty].argmax(axis=1)] = True
        sets = measure(kept, probabilities.answers)
    return sets


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
    return measure(kept, probabilities.ranked_answers)


AUTHORS: dict[str, Authors] = {
    "lac": Authors(_lac_answers, _lac_sets),
    "aps": Authors(_aps_answers, _aps_sets),
}
