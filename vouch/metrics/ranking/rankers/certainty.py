"""certainty: share of the other options that the prediction set rules out (Schmalfuss et al. 2025, PARC).

1 - (|C| - 1) / (k - 1) of k options; the LAC threshold comes from the labels of the proxy, whereas the
authors calibrate on half of the same dataset.
"""

import numpy as np

from vouch.metrics.ranking.sets import sizes
from vouch.metrics.ranking.tasks import PROBABILITIES, Numbers, Task

NEEDS = (PROBABILITIES,)


def per_proxy(task: Task, proxy: Task, alpha: float) -> Numbers:
    """[models, items] 0 ... 1; 1 for a single option."""
    options = (~np.isnan(task.label_free[NEEDS[0]])).sum(axis=2)
    return np.asarray(1 - (sizes(task, proxy, alpha) - 1) / np.maximum(options - 1, 1))
