"""gap: probability of the most probable option minus that of the next one."""

import numpy as np

from vouch.metrics.ranking.tasks import PROBABILITIES, Numbers, Task

NEEDS = (PROBABILITIES,)


def per_item(task: Task) -> Numbers:
    """[models, items] 0 ... 1; with a single option its probability, 1."""
    p = task.label_free[NEEDS[0]]
    ordered = np.sort(np.where(np.isnan(p), 0.0, p), axis=2)
    second = ordered[:, :, -2] if p.shape[2] > 1 else 0.0
    return np.asarray(np.where(np.isnan(p).all(axis=2), np.nan, ordered[:, :, -1] - second))
