"""AUROC of confidence: how often a right prediction is surer than a wrong one (Mann and Whitney 1947)."""

import numpy as np

from stages.score.metrics import Order


def of_order(order: Order) -> float | None:
    """P(right row surer than wrong one) + half of the equals; None where all are right or wrong."""
    right, wrong = order.correct.sum(), (1 - order.correct).sum()
    if right == 0 or wrong == 0:
        return None
    first = np.flatnonzero(np.r_[True, order.confidence[1:] != order.confidence[:-1]])
    rights = np.add.reduceat(order.correct, first)
    wrongs = np.add.reduceat(1 - order.correct, first)
    surer = wrong - np.cumsum(wrongs)
    return float((rights * (surer + wrongs / 2)).sum() / (right * wrong))
