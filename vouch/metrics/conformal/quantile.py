"""The threshold of a prediction set: an upper quantile of the calibration scores."""

import math
from fractions import Fraction

import numpy as np

from vouch.metrics.responses import Floats


def authors_threshold(scores: Floats, alpha: float) -> np.floating:
    """np.quantile(scores, ceil((n+1)(1-alpha))/n, method="higher") in the dtype of `scores` [n].

    That is the 0-based order statistic ceil((n-1) level), one above the textbook's for level < 1.
    +inf where n is too small for the level to be at most 1 (numpy would raise).
    """
    count = len(scores)
    rank = math.ceil((count + 1) * (1 - alpha))
    if rank > count:
        return scores.dtype.type(np.inf)
    index = -((1 - count) * rank // count)
    smallest: np.floating = np.partition(scores, index)[index]
    return smallest


def exact_rank(count: int, alpha: float) -> int:
    """ceil((n+1)(1-alpha)) without rounding error: the 1-based rank of the conformal threshold.

    Larger than `count` where n is too small for the target; the threshold is +inf then
    (Vovk et al. 2005; Angelopoulos and Bates 2023, section 1).
    """
    return math.ceil((count + 1) * (1 - Fraction(str(alpha))))
