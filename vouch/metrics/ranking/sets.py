"""Sizes of prediction sets whose threshold another dataset gave, so that no label of the task is used."""

import math
from fractions import Fraction

import numpy as np

from vouch.metrics.ranking.tasks import PROBABILITIES, Numbers, Task


def sizes(task: Task, proxy: Task, alpha: float) -> Numbers:
    """[models, items] options with 1 - p <= q, at least one; NaN where the model gave no answer.

    q is the ceil((n + 1)(1 - alpha))-th smallest 1 - p of the right answers of the proxy's n items (LAC), and
    infinite where these are too few. Between datasets nothing guarantees coverage.
    """
    p = task.label_free[PROBABILITIES]
    found = np.full(p.shape[:2], np.nan)
    right = np.where(proxy.answers, proxy.label_free[PROBABILITIES], np.nan)
    scores = 1 - np.fmax.reduce(right, axis=2, initial=np.nan)
    for model, own in enumerate(scores):
        known = np.sort(own[~np.isnan(own)])
        rank = math.ceil((len(known) + 1) * (1 - Fraction(str(alpha))))
        threshold = known[rank - 1] if rank <= len(known) else np.inf
        answered = ~np.isnan(p[model]).all(axis=1)
        found[model, answered] = np.maximum((1 - p[model, answered] <= threshold).sum(axis=1), 1)
    return found
