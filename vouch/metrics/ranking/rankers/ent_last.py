"""ent_last: entropy before the last token, turned (Ent_P of Tu et al. 2024)."""

from vouch.metrics.ranking.tasks import Numbers, Task

NEEDS = ("ent_last",)
UNCERTAINTY = True


def per_item(task: Task) -> Numbers:
    """[models, items] -1 ... 0."""
    return -task.label_free[NEEDS[0]]
