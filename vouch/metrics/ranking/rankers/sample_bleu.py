"""sample_bleu: likeness of samples to the greedy text, mean BLEU-1 (Sample_BLEU of Tu et al. 2024)."""

from vouch.metrics.ranking.tasks import Numbers, Task

NEEDS = ("sample_bleu",)


def per_item(task: Task) -> Numbers:
    """[models, items] 0 ... 1."""
    return task.label_free[NEEDS[0]]
