"""agreement: share of the samples that are the greedy text."""

from vouch.metrics.ranking.tasks import Numbers, Task

NEEDS = ("agreement",)


def per_item(task: Task) -> Numbers:
    """[models, items] 0 ... 1."""
    return task.label_free[NEEDS[0]]
