"""Where generated answers point: how often an option is named at each place, and how often it is right there.

Li et al. 2023 (ReForm-Eval) draw both shares. Rows that name one option count.
"""

from collections.abc import Iterator

import numpy as np

from vouch.metrics.calibration.metrics import OF_LETTERS, Letters
from vouch.metrics.intervals import centred, group_sums, resampled
from vouch.metrics.protocols import Figure
from vouch.metrics.registry import named
from vouch.metrics.robustness.predictions import CLEAN, Facts, Predictions


def preference_figures(predictions: Predictions, facts: Facts, protocol: str, seed: int) -> Iterator[Figure]:
    """chosen_share_A, right_share_A, ... by place, whatever its mark looks like; several right ones share.

    clean: intervals of a bootstrap over groups, as those of letters.
    """
    rows = predictions.counted(protocol)
    rows = rows.take(rows.place >= 0)
    right = facts.right_shares(rows.prompts)
    width = max(right.shape[1], int(rows.place.max(initial=0)) + 1)
    if width < 2 or not len(rows):
        return
    shares = np.zeros((len(rows), 2 * width))
    shares[np.arange(len(rows)), rows.place] = 1
    shares[:, width : width + right.shape[1]] = right
    exact = Letters(*np.split(shares.mean(axis=0), 2))
    draws = None
    if protocol == CLEAN:
        row, cell = np.nonzero(shares)
        sums = group_sums(rows.groups[row], cell, shares[row, cell], 2 * width)
        totals = resampled(sums, seed)
        draws = Letters(*np.split(totals / totals[:, :width].sum(axis=1, keepdims=True), 2, axis=1))
    for metric, formula in OF_LETTERS.items():
        drawn = None if draws is None else named(metric, formula.of(draws))
        for name, value in named(metric, formula.of(exact)).items():
            ends = (None, None) if drawn is None else centred(float(value), drawn[name])
            yield Figure("", name, float(value), len(rows), *ends)
