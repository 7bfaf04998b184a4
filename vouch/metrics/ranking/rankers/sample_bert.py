"""sample_bert: mean BERTScore F1 of the samples against the greedy text (Sample_BERT of Tu et al. 2024)."""

from vouch.metrics.ranking.tasks import Numbers, Task

NEEDS = ("sample_bert",)


def per_item(task: Task) -> Numbers:
    """[models, items] at most 1."""
    return task.label_free[NEEDS[0]]
