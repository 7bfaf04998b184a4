"""atc: average thresholded confidence (Garg et al. 2022; equation 4 of Tu et al. 2024, turned).

The share of items on which the model is surer than a threshold. The threshold makes this share, on the
labelled proxy, the model's performance there. How sure: Task.certainty.
"""

from vouch.metrics.ranking.tasks import NLL, PROBABILITIES, Numbers, Task
from vouch.metrics.ranking.thresholds import above

NEEDS = (NLL, PROBABILITIES)


def per_proxy(task: Task, proxy: Task, alpha: float) -> Numbers:
    """[models, items] 0 or 1; the mean estimates the performance."""
    return above(task.certainty, proxy.certainty, proxy.performance)
