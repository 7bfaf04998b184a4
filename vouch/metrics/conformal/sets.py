"""Prediction sets, reduced to what the metrics need."""

from dataclasses import dataclass

import numpy as np

from vouch.metrics.responses import Bools, count


@dataclass(frozen=True)
class Sets:
    """size: how many letters; covered: whether an answer is among them. Both [n] or [splits, n]."""

    size: np.ndarray
    covered: Bools


def measure(kept: Bools, answers: Bools) -> Sets:
    """Sets from the kept letters [n, k] and the answers in the same order."""
    return Sets(count(kept), np.asarray((kept & answers).any(axis=1)))
