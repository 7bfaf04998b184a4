"""atc_literal: equation 4 of Tu et al. 2024 to the letter: it counts the items on which the model is unsure.

There u is an uncertainty, and the items with u above the threshold count as right: a model that is less sure
of the task than of the proxy is held for better than it was there. `atc` has the direction that is meant.
"""

from vouch.metrics.ranking.tasks import NLL, PROBABILITIES, Numbers, Task
from vouch.metrics.ranking.thresholds import above

NEEDS = (NLL, PROBABILITIES)


def per_proxy(task: Task, proxy: Task, alpha: float) -> Numbers:
    """[models, items] 0 or 1."""
    return above(-task.certainty, -proxy.certainty, proxy.performance)
