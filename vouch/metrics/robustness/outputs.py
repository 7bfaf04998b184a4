"""How outputs differ, and where generated answers point (Li et al. 2023, ReForm-Eval).

faithful: all rows, no interval. clean: those without defects, ties shared, intervals over groups.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from vouch.metrics.calibration.metrics import OF_LETTERS, Letters
from vouch.metrics.intervals import centred, group_sums, mean_interval, resampled
from vouch.metrics.protocols import CLEAN, Figure
from vouch.metrics.registry import named
from vouch.metrics.robustness.predictions import Predictions, PromptIndex
from vouch.tables.prompts import LETTERS, LIKELIHOOD, TEXT

PAIRS = ((LETTERS, LIKELIHOOD), (LETTERS, TEXT), (LIKELIHOOD, TEXT))


def gap_figures(predictions: Sequence[Predictions], protocol: str) -> Iterator[tuple[str, str, Figure]]:
    """(variation, output, figure): accuracy of `output` minus that of the output in the metric's name.

    On the prompts that both answered.
    """
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
                ends = mean_interval((gaps[known] + 1) / 2, one.groups[here][known])
                low, high = (None if end is None else 2 * end - 1 for end in ends)
                low, high = (None, None) if low == high else (low, high)
            value = float(gaps[known].mean())
            yield variation, first, Figure("", f"gap_to_{second}", value, int(known.sum()), low, high)


def preference_figures(
    predictions: Predictions, index: PromptIndex, protocol: str, seed: int
) -> Iterator[Figure]:
    """chosen_share_A, right_share_A, ... by place, whatever its mark looks like; several right ones share.

    Of the rows that name one option. clean: intervals of a bootstrap over groups, as those of letters.
    """
    rows = predictions.counted(protocol)
    rows = rows.take(rows.place >= 0)
    right = index.right_shares(rows.prompts)
    width = max(right.shape[1], int(rows.place.max(initial=0)) + 1)
    if width < 2 or not len(rows):
        return
    shares = np.zeros((len(rows), 2 * width))
    shares[np.arange(len(rows)), rows.place] = 1
    shares[:, width : width + right.shape[1]] = right
    exact = Letters(*np.split(shares.mean(axis=0), 2))
    draws = None
    if protocol == CLEAN:
        totals = resampled(group_sums(rows.groups, [(0, share, 1) for share in shares.T]), seed)
        draws = Letters(*np.split(totals / totals[:, :width].sum(axis=1, keepdims=True), 2, axis=1))
    for metric, formula in OF_LETTERS.items():
        drawn = None if draws is None else named(metric, formula(draws))
        for name, value in named(metric, formula(exact)).items():
            ends = (None, None) if drawn is None else centred(float(value), drawn[name])
            yield Figure("", name, float(value), len(rows), *ends)
