"""Area under the risk-coverage curve: mean error of the surest rows (Geifman, Uziel and El-Yaniv 2019)."""

import numpy as np

from stages.score.metrics import Order


def of_order(order: Order) -> float:
    """Mean over k = 1 ... n of the error among the k surest rows; 0 is best, lower is better."""
    counts = np.arange(1, len(order.correct) + 1)
    return float((np.cumsum(1 - order.correct) / counts).mean())
