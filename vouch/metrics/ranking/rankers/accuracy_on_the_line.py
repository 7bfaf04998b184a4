"""accuracy_on_the_line: performance on another dataset (Miller et al. 2021; AoL of Tu et al. 2024)."""

import numpy as np

from vouch.metrics.ranking.tasks import Numbers, Task

NEEDS = ()


def per_proxy(task: Task, proxy: Task, alpha: float) -> Numbers:
    """[models, items] the mean performance on the proxy, for every item."""
    mean = np.nanmean(proxy.performance, axis=1, keepdims=True)
    return np.where(np.isnan(task.performance), np.nan, mean)
