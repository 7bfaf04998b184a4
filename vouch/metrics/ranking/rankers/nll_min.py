"""nll_min: negative log-likelihood of the least probable token, turned (NLL_min of Tu et al. 2024)."""

from vouch.metrics.ranking.tasks import Numbers, Task

NEEDS = ("nll_min",)
UNCERTAINTY = True


def per_item(task: Task) -> Numbers:
    """[models, items] nats."""
    return -task.label_free[NEEDS[0]]
