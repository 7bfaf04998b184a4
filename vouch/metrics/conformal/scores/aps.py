"""APS, adaptive prediction sets: probability mass down to a letter (Romano, Sesia and Candes 2020).

No randomisation. The authors keep letters while the running sum is at most the threshold, not up to
the letter that crosses it; much of the coverage then comes from the letter kept in an empty set.
"""

import numpy as np

from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.conformal.ranked import Ranked
from vouch.metrics.conformal.scores import Settings
from vouch.metrics.conformal.sets import Sets, measure
from vouch.metrics.responses import Floats


def answer_scores(probabilities: Probabilities) -> Floats:
    """[n] running sum down to the answer, in the released order of ties (see ordering)."""
    # Of several answers the smallest sum; what is no answer lies beyond every sum, which is about 1 at most.
    beyond = probabilities.p.dtype.type(4)
    scores = np.full(len(probabilities.p), beyond)
    for summed, answers in zip(probabilities.cumulative.T, probabilities.ranked_answers.T, strict=True):
        np.minimum(scores, summed + beyond * ~answers, out=scores)
    return scores


def authors_sets(probabilities: Probabilities, threshold: np.floating) -> Sets:
    """Letters in descending order while the running sum is <= threshold, at least the first."""
    kept = (probabilities.cumulative <= threshold) & probabilities.ranked_present
    kept[:, 0] = True
    return measure(kept, probabilities.ranked_answers)


def nonconformity(ranked: Ranked, settings: Settings) -> Floats:
    """[n, k] sum of all p_j >= p_k: equation 4 of the benchmark's paper to the letter, equals included."""
    return ranked.upto
