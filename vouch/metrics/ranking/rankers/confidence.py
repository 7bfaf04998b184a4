"""confidence: probability of the most probable option."""

from vouch.metrics.ranking.tasks import PROBABILITIES, Numbers, Task, highest

NEEDS = (PROBABILITIES,)


def per_item(task: Task) -> Numbers:
    """[models, items] 0 ... 1."""
    return highest(task.label_free[NEEDS[0]])
