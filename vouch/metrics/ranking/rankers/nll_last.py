"""nll_last: negative log-likelihood of the last token, turned (NLL_P of Tu et al. 2024)."""

from vouch.metrics.ranking.tasks import Numbers, Task

NEEDS = ("nll_last",)
UNCERTAINTY = True


def per_item(task: Task) -> Numbers:
    """[models, items] nats."""
    return -task.label_free[NEEDS[0]]
