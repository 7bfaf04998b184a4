"""nll_avg: mean negative log-likelihood of the tokens, turned (NLL_avg of Tu et al. 2024)."""

from vouch.metrics.ranking.tasks import Numbers, Task

NEEDS = ("nll_avg",)
UNCERTAINTY = True


def per_item(task: Task) -> Numbers:
    """[models, items] nats."""
    return -task.label_free[NEEDS[0]]
