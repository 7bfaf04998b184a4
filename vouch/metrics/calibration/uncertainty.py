"""Which uncertainty estimates tell right answers from wrong ones, all of them on the same answers.

Every bootstrap with the same seed draws the same groups, so differences of draws are paired.
"""

from collections.abc import Mapping

import numpy as np

from vouch.metrics.calibration.calibration import mass_slots
from vouch.metrics.calibration.figures import BLOCKS, Order, auroc
from vouch.metrics.intervals import Figure, about, centred, group_sums, resampled
from vouch.metrics.responses import Floats, Ints

CONFIDENCE = "confidence"
"""The estimate that others are compared with."""


def uncertainty_figures(
    estimates: Mapping[str, Floats], correct: Floats, groups: Ints, seed: int
) -> list[Figure]:
    """uncertainty_auroc of every estimate, and uncertainty_gain, minus that of CONFIDENCE; by score.

    estimates: [n] larger is surer, NaN where unknown; only rows [n] on which all are known count, so that all
    rest on the same. correct: [n] 0 ... 1. Nothing where there is nothing to compare, or all are right.
    """
    known = ~np.isnan([correct, *estimates.values()]).any(axis=0)
    if CONFIDENCE not in estimates or len(estimates) < 2 or not known.any():
        return []
    right, numbers = correct[known], groups[known]
    found = {name: _auroc(values[known], right, numbers, seed) for name, values in estimates.items()}
    base, of_base = found[CONFIDENCE]
    if np.isnan(base):
        return []
    figures = []
    for name, (value, draws) in found.items():
        figures.append(Figure(name, "uncertainty_auroc", value, len(right), *centred(value, draws)))
        if name != CONFIDENCE:
            gap = value - base
            figures.append(Figure(name, "uncertainty_gain", gap, len(right), *about(gap, draws - of_base)))
    return figures


def _auroc(estimate: Floats, right: Floats, groups: Ints, seed: int) -> tuple[float, Floats]:
    """The exact one, and draws in which rows between two of BLOCKS edges count as equally sure."""
    levels, exact = np.unique(-estimate, return_inverse=True)
    counts = (np.bincount(exact, weights, len(levels)).astype(float) for weights in (None, right))
    few = exact if len(levels) <= BLOCKS else mass_slots(-estimate, BLOCKS)
    width = int(few.max()) + 1
    sums = group_sums(groups, [(few, np.ones(len(right)), width), (few, right, width)])
    return float(auroc(Order(*counts))), auroc(Order(*np.split(resampled(sums, seed), 2, axis=-1)))
