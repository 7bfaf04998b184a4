"""APS, adaptive prediction sets: probability mass down to a letter (Romano, Sesia and Candes 2020).

No randomisation. The authors keep letters while the running sum is at most the threshold, not up to
the letter that crosses it; much of the coverage then comes from the letter kept in an empty set.
"""

import numpy as np

from stages.score.beliefs import Beliefs
from stages.score.responses import Floats
from stages.score.sets import Sets, measure


def answer_scores(beliefs: Beliefs) -> Floats:
    """[n] running sum down to the answer, in the released order of ties (see ordering)."""
    never = beliefs.p.dtype.type(np.inf)
    return np.asarray(np.where(beliefs.ranked_answers, beliefs.cumulative, never).min(axis=1))


def authors_sets(beliefs: Beliefs, threshold: np.floating) -> Sets:
    """Letters in descending order while the running sum is <= threshold, at least the first."""
    kept = (beliefs.cumulative <= threshold) & beliefs.ranked_present
    kept[:, 0] = True
    return measure(kept, beliefs.ranked_answers)


def nonconformity(beliefs: Beliefs) -> Floats:
    """[n, k] sum of all p_j >= p_k: equation 4 of the benchmark's paper to the letter, equals included."""
    mass = np.zeros_like(beliefs.p)
    for rank in range(mass.shape[1]):
        reached = beliefs.ranked[:, rank, None] >= beliefs.p
        mass = np.where(reached, beliefs.cumulative[:, rank, None], mass)
    # Exactly 1 for the last letter of every row, so that a threshold of 1 admits it everywhere.
    return np.asarray(mass / beliefs.cumulative[:, -1:])
