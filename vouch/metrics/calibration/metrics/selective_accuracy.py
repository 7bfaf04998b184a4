"""Accuracy on the surest share of the prompts, the others declined (El-Yaniv and Wiener 2010)."""

from typing import Any

import numpy as np

from vouch.metrics.calibration.metrics import Order

PERCENT = (50, 80, 90)


def of_order(order: Order) -> dict[str, Any]:
    """Share answered in percent -> [...] accuracy on the ceil(share n) surest rows."""
    return {str(percent): _surest(order, percent) for percent in PERCENT}


def _surest(order: Order, percent: int) -> Any:
    reached = np.cumsum(order.count, axis=-1)
    most = -(-percent * reached[..., -1:] // 100)
    # Of the block in which the last of them falls, only that part counts.
    share = np.clip((most - reached + order.count) / np.maximum(order.count, 1), 0, 1)
    return (share * order.correct).sum(axis=-1) / most[..., 0]
