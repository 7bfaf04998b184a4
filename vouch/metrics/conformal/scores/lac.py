"""LAC, least ambiguous classifier: 1 - p (Sadinle, Lei and Wasserman 2019)."""

import numpy as np

from vouch.metrics.calibration.probabilities import Probabilities
from vouch.metrics.conformal.ranked import Ranked
from vouch.metrics.conformal.scores import Settings
from vouch.metrics.conformal.sets import Sets, measure
from vouch.metrics.responses import Floats


def answer_scores(probabilities: Probabilities) -> Floats:
    """[n] 1 - p of the answer."""
    answer = np.zeros(len(probabilities.p), dtype=probabilities.p.dtype)
    for p, answers in zip(probabilities.p.T, probabilities.answers.T, strict=True):
        np.maximum(answer, p * answers, out=answer)
    return np.asarray(1 - answer)


def authors_sets(probabilities: Probabilities, threshold: np.floating) -> Sets:
    """The letters with p >= 1 - threshold; where there is none, the most probable one (lowest of equals)."""
    kept = (probabilities.p >= probabilities.p.dtype.type(1) - threshold) & probabilities.present
    sets = measure(kept, probabilities.answers)
    empty = np.flatnonzero(sets.size == 0)
    if len(empty):
        kept[empty, probabilities.p[empty].argmax(axis=1)] = True
        sets = measure(kept, probabilities.answers)
    return sets


def nonconformity(ranked: Ranked, settings: Settings) -> Floats:
    """[n, k] 1 - p."""
    return np.asarray(1 - ranked.p)
