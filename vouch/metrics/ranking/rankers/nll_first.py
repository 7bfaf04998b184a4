"""nll_first: negative log-likelihood of the first token, turned (NLL_F of Tu et al. 2024)."""

from vouch.metrics.ranking.tasks import Numbers, Task

NEEDS = ("nll_first",)
UNCERTAINTY = True


def per_item(task: Task) -> Numbers:
    """[models, items] nats."""
    return -task.label_free[NEEDS[0]]
