"""set_size: size of the prediction set, turned; its LAC threshold comes from the labels of the proxy."""

from vouch.metrics.ranking.sets import sizes
from vouch.metrics.ranking.tasks import PROBABILITIES, Numbers, Task

NEEDS = (PROBABILITIES,)
UNCERTAINTY = True


def per_proxy(task: Task, proxy: Task, alpha: float) -> Numbers:
    """[models, items] minus the number of options in the set."""
    return -sizes(task, proxy, alpha)
