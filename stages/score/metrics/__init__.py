"""Metrics, one file each; the file name is the metric's name. A file defines one of

per_row(beliefs) -> [n] or None   a number or truth value a row, the metric is its mean; None where it
                                  does not apply. AUTHORS_ROWS says which rows the authors average:
                                  `test` or `all`
of_sets(rows, mean)               from SetRows; `mean` averages a quantity over the test rows, of one split
                                  or of each of many, so the result is a number or an array [splits]
of_bins(bins) -> [...]            from Bins
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Mean = Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class SetRows:
    """Per row: size and covered of its set, [n] or [splits, n]; correct and options (how many), [n]."""

    size: np.ndarray
    covered: np.ndarray
    correct: np.ndarray
    options: np.ndarray
