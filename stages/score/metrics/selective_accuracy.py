"""Accuracy on the surest share of the prompts, the others declined (El-Yaniv and Wiener 2010)."""

import math
from fractions import Fraction

from stages.score.metrics import Order

PERCENT = (50, 80, 90)


def of_order(order: Order) -> dict[str, float]:
    """Share answered in percent -> accuracy on the ceil(share n) surest rows."""
    total = len(order.correct)
    return {
        str(percent): float(order.correct[: math.ceil(Fraction(percent, 100) * total)].mean())
        for percent in PERCENT
    }
