"""entropy: of the softmax over the options, turned."""

import numpy as np

from vouch.metrics.ranking.tasks import PROBABILITIES, Numbers, Task

NEEDS = (PROBABILITIES,)
UNCERTAINTY = True


def per_item(task: Task) -> Numbers:
    """[models, items] nats."""
    p = task.label_free[NEEDS[0]]
    known = ~np.isnan(p)
    certainty = np.where(known, p * np.log(np.where(known & (p > 0), p, 1.0)), 0.0).sum(axis=2)
    return np.asarray(np.where(known.any(axis=2), certainty, np.nan))
