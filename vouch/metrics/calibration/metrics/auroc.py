"""AUROC of confidence: how often a right prediction is surer than a wrong one (Mann and Whitney 1947)."""

from typing import Any

import numpy as np

from vouch.metrics.calibration.metrics import Order


def of_order(order: Order) -> Any:
    """[...] P(right row surer than wrong one) + half of the equals; NaN where all are right or all wrong."""
    right, wrong = order.correct, order.count - order.correct
    total = wrong.sum(axis=-1, keepdims=True)
    surer = (right * (total - np.cumsum(wrong, axis=-1) + wrong / 2)).sum(axis=-1)
    pairs = right.sum(axis=-1) * total[..., 0]
    return np.where(pairs > 0, surer / np.where(pairs > 0, pairs, 1), np.nan)
