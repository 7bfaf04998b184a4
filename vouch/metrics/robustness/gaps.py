"""How much more often one output is right than another on the same prompts (Li et al. 2023).

faithful: all common rows, no interval. clean: those without defects, ties shared, sandwich interval over
groups.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from vouch.metrics.intervals import cluster_mean
from vouch.metrics.protocols import Figure
from vouch.metrics.registry import Metric
from vouch.metrics.robustness.predictions import CLEAN, Predictions
from vouch.tables.prompts import LETTERS, LIKELIHOOD, TEXT

DECLARED = {
    f"gap_to_{output}": Metric(f"Gap to {output}", f"accuracy minus that of {output}", unit="")
    for output in (LIKELIHOOD, TEXT)
}
PAIRS = ((LETTERS, LIKELIHOOD), (LETTERS, TEXT), (LIKELIHOOD, TEXT))


def gap_figures(predictions: Sequence[Predictions], protocol: str) -> Iterator[tuple[str, str, Figure]]:
    """(variation, output, figure): accuracy of `output` minus that of the output in the metric's name."""
    by_place = {(each.variation, each.output): each for each in predictions}
    for variation in dict.fromkeys(each.variation for each in predictions):
        for first, second in PAIRS:
            sides = [by_place.get((variation, output)) for output in (first, second)]
            if sides[0] is None or sides[1] is None:
                continue
            one, other = (side.counted(protocol) for side in sides if side is not None)
            _, here, there = np.intersect1d(one.prompts, other.prompts, return_indices=True)
            gaps = one.correct[here] - other.correct[there]
            known = ~np.isnan(gaps)
            if not known.any():
                continue
            low: float | None = None
            high: float | None = None
            if protocol == CLEAN:
                ends = cluster_mean((gaps[known] + 1) / 2, one.groups[here][known])
                low, high = (None if end is None else 2 * end - 1 for end in ends)
                low, high = (None, None) if low == high else (low, high)
            value = float(gaps[known].mean())
            yield variation, first, Figure("", f"gap_to_{second}", value, int(known.sum()), low, high)
