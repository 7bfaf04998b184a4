"""Thresholds of many splits at once, one for each stratum of the rows (Vovk et al. 2005, section 4.5).

marginal  all rows share one threshold
class     each letter has that of the rows whose answer stands at it: coverage whatever letter is right
category  each category of the items
options   each number of options

A stratum with too few calibration rows has an infinite threshold: its sets hold every option.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.conformal.ranked import Ranked
from vouch.metrics.conformal.splits import Splits, meant
from vouch.metrics.responses import Array, Bools, Floats, Ints


class Strata(NamedTuple):
    """answers [n]: stratum that a row calibrates. rows [n]: whose sets it gets; None: that of each letter."""

    answers: NDArray[np.integer]
    rows: NDArray[np.integer] | None
    number: int


def _one(rows: int) -> Strata:
    alike = np.zeros(rows, dtype=np.uint8)
    return Strata(alike, alike, 1)


def _of_rows(numbers: np.ndarray) -> Strata:
    found, rows = np.unique(numbers, return_inverse=True)
    return Strata(rows, rows, len(found))


def _of_letters(ranked: Ranked) -> Strata:
    first = ranked.answers.argmax(axis=1)
    return Strata(ranked.letters[np.arange(len(first)), first], None, ranked.logits.shape[1])


STRATA: dict[str, Callable[[Ranked, Ints], Strata]] = {
    "marginal": lambda ranked, categories: _one(len(ranked)),
    "class": lambda ranked, categories: _of_letters(ranked),
    "category": lambda ranked, categories: _of_rows(categories),
    "options": lambda ranked, categories: _of_rows(ranked.options),
}
"""Kinds of calibration; arguments: the rows, the category of each row's item."""
SMALL = 4096
"""With fewer rows the window below would save nothing."""
REACH = 4
"""The window's reach in square roots of n: more than ten standard deviations where rows are independent."""


def thresholds(
    answer: Floats, strata: NDArray[np.integer], count: int, splits: Splits, alpha: float
) -> Array:
    """[splits, count] the ceil((m + 1)(1 - alpha))-th smallest score of the m rows that calibrate a stratum.

    answer [n]: scores of the answers; strata [n]: each row's stratum in 0 ... count - 1. +inf where m is too
    small for the rank (Vovk, Gammerman and Shafer 2005, sections 2.2 and 4.5).
    """
    found = np.full((len(splits), count), np.inf)
    for stratum in range(count):
        mine = np.asarray(strata == stratum)
        sizes = splits.count(mine)
        rank_of = {size: exact_rank(size, alpha) for size in set(sizes.tolist())}
        ranks = np.array([rank_of[size] for size in sizes.tolist()])
        finite = ranks <= sizes
        if finite.any():
            low, high = _window(answer, mine, sizes[finite], ranks[finite])
            values = _select(answer, mine, splits, np.where(finite, ranks, 0), low, high)
            found[finite, stratum] = values[finite]
    return found


def _window(answer: Floats, mine: Bools, sizes: Ints, ranks: Ints) -> tuple[float, float]:
    """Bounds of the scores among which the thresholds of all splits are expected."""
    total = int(np.count_nonzero(mine))
    if total < SMALL:
        return -np.inf, np.inf
    levels, reach = ranks / sizes, REACH * math.sqrt(total)
    low = max(0, math.floor(levels.min() * total - reach))
    high = min(total - 1, math.ceil(levels.max() * total + reach))
    values = answer if total == len(answer) else answer[mine]
    placed = np.partition(values, (low, high))
    return float(placed[low]), float(placed[high])


def _select(answer: Floats, mine: Bools, splits: Splits, ranks: Ints, low: float, high: float) -> Array:
    """[splits] the rank-th smallest calibrating score in each split; looks at all rows where need be."""
    inside = np.flatnonzero(mine & (answer >= low) & (answer <= high))
    order = inside[np.argsort(answer[inside], kind="stable")]
    skipped = splits.count(mine & (answer < low))
    reached = np.cumsum(splits.calibrating(order), axis=1, dtype=np.int32)
    reached += skipped[:, None].astype(np.int32)
    bounded = (ranks > skipped) & (ranks <= reached[:, -1])
    if not bounded[ranks > 0].all():
        return _select(answer, mine, splits, ranks, -np.inf, np.inf)
    return np.asarray(answer[order][(reached >= ranks[:, None]).argmax(axis=1)])


def quantile(scores: Floats, alpha: float) -> float:
    """The ceil((n + 1)(1 - alpha))-th smallest of n scores, their threshold; inf where there is none."""
    rank = exact_rank(len(scores), alpha)
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else np.inf


def exact_rank(count: int, alpha: float) -> int:
    """ceil((n+1)(1-alpha)) without rounding error: the 1-based rank of the conformal threshold.

    1 - 0.9 as alpha means 0.1. Larger than `count` where n is too small for the target; the threshold is +inf
    then (Vovk et al. 2005; Angelopoulos and Bates 2023, section 1).
    """
    return math.ceil((count + 1) * (1 - meant(alpha)))
