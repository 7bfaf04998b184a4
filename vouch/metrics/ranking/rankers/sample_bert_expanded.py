"""sample_bert_expanded: sample_bert with an option's text after its letter (Sample*_BERT, Tu et al. 2024)."""

from vouch.metrics.ranking.tasks import Numbers, Task

NEEDS = ("sample_bert_expanded",)


def per_item(task: Task) -> Numbers:
    """[models, items] at most 1."""
    return task.label_free[NEEDS[0]]
