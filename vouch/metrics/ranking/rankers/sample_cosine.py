"""sample_cosine: mean cosine of the samples' vectors with that of the greedy text."""

from vouch.metrics.ranking.tasks import Numbers, Task

NEEDS = ("sample_cosine",)


def per_item(task: Task) -> Numbers:
    """[models, items] -1 ... 1."""
    return task.label_free[NEEDS[0]]
