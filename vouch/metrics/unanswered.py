"""How many of the prompts that were asked have no answer: the other metrics rest on those that have one."""

import numpy as np

from vouch.metrics.intervals import cluster_mean
from vouch.metrics.join import Asked
from vouch.metrics.protocols import Figure
from vouch.metrics.registry import Metric

METRIC = "unanswered"
DECLARED = {METRIC: Metric("Unanswered", "share of the prompts without an answer", "lower")}


def unanswered(protocol: str, asked: Asked, chosen: np.ndarray) -> list[Figure]:
    """The share of the chosen rows [m] without an answer; nothing where the protocol counts no row.

    faithful: all rows, no interval. clean: without the defective ones, sandwich interval over groups.
    """
    rows = chosen & ~asked.defective if protocol == "clean" else chosen
    missing = ~asked.answered[rows]
    if not len(missing):
        return []
    low, high = cluster_mean(missing, asked.groups[rows]) if protocol == "clean" else (None, None)
    return [Figure("", METRIC, float(missing.mean()), len(missing), low, high)]
