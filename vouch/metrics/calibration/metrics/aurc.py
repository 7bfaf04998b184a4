"""Area under the risk-coverage curve: mean error of the surest rows (Geifman, Uziel and El-Yaniv 2019)."""

from typing import Any

import numpy as np

from vouch.metrics.calibration.metrics import Order


def of_order(order: Order) -> Any:
    """[...] mean over k = 1 ... n of the error among the k surest rows; 0 is best, lower is better.

    A block of m rows with mean error r after c rows with e errors adds sum_{j = 1 ... m} (e + j r) / (c + j)
    = m r + (e - c r) (H(c + m) - H(c)), with harmonic numbers H.
    """
    wrong = order.count - order.correct
    after = np.cumsum(order.count, axis=-1).astype(np.int64)
    before = after - order.count.astype(np.int64)
    errors = np.cumsum(wrong, axis=-1) - wrong
    rate = wrong / np.maximum(order.count, 1)
    harmonic = np.r_[0.0, np.cumsum(1 / np.arange(1, int(after.max()) + 1))]
    curve = wrong + (errors - before * rate) * (harmonic[after] - harmonic[before])
    return curve.sum(axis=-1) / after[..., -1]
